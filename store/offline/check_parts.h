#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include <absl/container/flat_hash_set.h>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/offline/check.h"

// The steps of a check. Included by store's own files only.
namespace perennial::store {

class Database;

// Counts faults and passes them on.
class FaultList {
 public:
  FaultList(const CheckOptions& options, CheckSummary& summary)
      : options_(options), summary_(summary) {}

  void add(std::string_view where, std::string key, std::string what);
  void add(Family family, std::string_view key, std::string what);
  // What decoding a row of that family said.
  void add(Family family, std::string_view key, const Status& status);
  uint64_t count() const { return summary_.faults; }

 private:
  const CheckOptions& options_;
  CheckSummary& summary_;
};

// What meta says that rows of jobs are held against.
struct MetaFacts {
  absl::flat_hash_set<TubeId> tubes;
  JobId next_id = std::numeric_limits<JobId>::max();  // Until it is known: no id is too high.
  bool is_whole = true;  // Otherwise a tube may be one that was not read.
};

MetaFacts check_meta(const Database& db, const CheckOptions& options, CheckSummary& summary,
                     FaultList& faults);
void check_jobs(const Database& db, const CheckOptions& options, const MetaFacts& meta,
                CheckSummary& summary, FaultList& faults);
void check_tables(const Database& db, const CheckOptions& options, CheckSummary& summary,
                  FaultList& faults);

}  // namespace perennial::store
