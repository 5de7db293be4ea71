#pragma once

#include <string>
#include <vector>

#include "engine/types/status.h"
#include "store/recovery/manifest.h"
#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/salvage/family_merge.h"
#include "store/types/options.h"

// Included by store's own files only.
namespace perennial::store {

// The tables of a database that cannot be read whole, and those that its MANIFEST does not name
// because it is damaged or an older one.
struct TableDamage {
  std::vector<OpenedTable> tables;
  // What is wrong with the MANIFEST; empty: nothing that this has found.
  std::string manifest_problem;
  // The directory without these tables: what is to be read of them is in `tables`.
  View rest;
};

// Reads every block of every table. Corruption: the MANIFEST does not say which tables there are.
Result<TableDamage> find_damaged_tables(const std::string& db_path, const Options& options,
                                        StoreFailure& failure, const Manifest& manifest);

}  // namespace perennial::store
