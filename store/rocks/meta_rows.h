#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/types/options.h"

// The rows of meta that every database has. Each function is given an open database, and says what
// is wrong with the row if it cannot be had. Included by store's own files only.
namespace perennial::store {

class Database;

// What a database says of its format.
struct StoredFormat {
  uint32_t version = 0;
  std::optional<MigrationRow> migration;  // If one was begun, and is not done.
};
Result<StoredFormat> read_format(const Database& db);
// The families that it must have, and those besides that a migration may not have dropped yet, or
// has made and written nothing to.
struct WantedFamilies {
  std::vector<std::string_view> needed;
  std::vector<std::string_view> possible;
};
WantedFamilies wanted_families(const StoredFormat& found, const Options& options);
// Corruption: one is missing. Unsupported: there is one that no format has which is known.
Status check_families(const Database& db, const Options& options);
// Unsupported: the format is not the one that the options want, which a newer program would read,
// or a migration.
Status check_format(const StoredFormat& found, const Options& options);
Status check_version(const Database& db, const Options& options);
Result<CommitRow> read_commit(const Database& db);
// That of the row, or one more than the highest id of any job, whichever is higher.
Result<JobId> find_next_id(const Database& db);

}  // namespace perennial::store
