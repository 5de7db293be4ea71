#pragma once

#include <optional>
#include <string>

#include "engine/types/status.h"
#include "store/format.h"
#include "store/options.h"

// The decision about the log at a start: README.md, "The start". Included by store's own files
// only.
namespace perennial::store {

// Reads the log of a database before it is opened. A log whose end was never acknowledged is cut
// there, with one event. Everything else that is not whole is refused, unless the options say that
// it is to be cut, too. `flushed` is the commit row that the tables alone hold, if they hold one.
// Returns the commit row that the database will have once it is open, likewise.
Result<std::optional<CommitRow>> recover_log(const std::string& db_path,
                                             const std::optional<CommitRow>& flushed,
                                             const Options& options);

}  // namespace perennial::store
