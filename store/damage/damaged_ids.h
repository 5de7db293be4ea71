#pragma once

#include <cstdint>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/transition.h"
#include "store/types/damage.h"

// Included by store's own files only.
namespace perennial::store {

// The ids that damaged blocks of one family may have held, as ranges that do not overlap, and the
// jobs with such ids.
class DamagedIds {
 public:
  struct Range {
    JobId first = 0;
    JobId last = 0;
  };

  // Blocks of other families are left out.
  DamagedIds(const std::vector<DamagedBlock>& blocks, Family family);

  // Notes a job if its id is in a range, and returns whether it is. REQUIRES: ids come in ascending
  // order.
  bool take(JobId id);

  bool contains(JobId id) const;
  const std::vector<Range>& ranges() const { return ranges_; }
  bool empty() const { return ranges_.empty(); }
  // By how much the number of rows may differ from that of jobs, if each job has one.
  uint64_t difference_max() const;
  // The jobs in the ranges, in the order of ids.
  const std::vector<JobId>& jobs() const { return jobs_; }

 private:
  std::vector<Range> ranges_;
  size_t next_ = 0;  // The first range that does not end before the last id.
  std::vector<JobId> jobs_;
};

// The ids that damaged blocks of notes may have held, and the jobs among them that count some.
struct DamagedNotes {
  explicit DamagedNotes(const std::vector<DamagedBlock>& blocks) : ids(blocks, Family::Notes) {}

  // Notes a job if it counts notes and its id is in a range. REQUIRES: ids come in ascending order.
  void take(const JobRow& row) {
    const uint32_t count = row.fields ? row.fields->notes : 0;
    if (count > 0 && ids.take(row.id)) had.push_back(count);
  }

  DamagedIds ids;
  std::vector<uint32_t> had;  // How many each of ids.jobs() counts.
};

}  // namespace perennial::store
