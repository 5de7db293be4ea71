#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

// The file `copy-wanted` in a data directory: a node of a cluster could not load its database, has
// found it damaged, or was asked to replace it, and shall get a copy of another node's before it
// follows the log again. So it is not elected with a database that it cannot serve. The damaged
// database stays until the copy is in its place.
//
// Whoever has mended the directory by other means removes the file.
namespace perennial::store {

inline constexpr std::string_view wanted_copy_name = "copy-wanted";

// Makes the file, durably, with the reason as its text.
Status want_copy(const std::string& data_dir, std::string_view why);
Result<bool> is_copy_wanted(const std::string& data_dir);
// The copy is in its place.
Status end_wanted_copy(const std::string& data_dir);

}  // namespace perennial::store
