#pragma once

#include <cstdint>
#include <vector>

#include "engine/types/basic.h"
#include "store/types/damage.h"

// Included by store's own files only.
namespace perennial::store {

// The ids that damaged blocks may have held, as ranges that do not overlap, and the jobs with such
// ids.
class DamagedIds {
 public:
  struct Range {
    JobId first = 0;
    JobId last = 0;
  };

  explicit DamagedIds(const std::vector<DamagedBlock>& blocks);

  // Notes a job if its id is in a range. REQUIRES: ids come in ascending order.
  void take(JobId id);

  bool contains(JobId id) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  // By how much the number of bodies may differ from that of jobs.
  uint64_t difference_max() const;
  // The jobs in the ranges, in the order of ids.
  const std::vector<JobId>& jobs() const { return jobs_; }

 private:
  std::vector<Range> ranges_;
  size_t next_ = 0;  // The first range that does not end before the last id.
  std::vector<JobId> jobs_;
};

}  // namespace perennial::store
