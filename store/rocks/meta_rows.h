#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/types/options.h"

// The rows of meta that every database has. Each function reads an open database. Corruption: the
// row is missing or damaged. Included by store's own files only.
namespace perennial::store {

class Database;

// The format of a database.
struct StoredFormat {
  uint32_t version = 0;
  std::optional<MigrationRow> migration;  // Set if a migration was begun and is not done.
};
Result<StoredFormat> read_format(const Database& db);
// "2 to 4", for messages.
std::string served_formats(const Options& options);
// `needed`: the families that the database must have. `possible`: those that a migration has not
// dropped yet, or that were made and nothing was written to them, by a migration or before the
// first batch of a newer format.
struct WantedFamilies {
  std::vector<std::string_view> needed;
  std::vector<std::string_view> possible;
};
WantedFamilies wanted_families(const StoredFormat& found, const Options& options);
// Corruption: a family is missing. Unsupported: no known format has one of the families.
Status check_families(const Database& db, const Options& options);
// Unsupported: the format is none from options.format_min to options.format. A newer program or a
// migration can read it.
Status check_format(const StoredFormat& found, const Options& options);
Status check_version(const Database& db, const Options& options);
// Empty: the database belongs to no cluster.
Result<std::string> read_cluster_id(const Database& db);
Result<CommitRow> read_commit(const Database& db);
// Returns the higher of the stored next id and one more than the highest id of any job, also of one
// that has ended.
Result<JobId> find_next_id(const Database& db);

}  // namespace perennial::store
