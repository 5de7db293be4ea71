#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/transition.h"
#include "store/types/damage.h"

// Included by store's own files only.
namespace perennial::store {

// By how much two numbers differ.
constexpr uint64_t difference_of(uint64_t one, uint64_t other) {
  return one < other ? other - one : one - other;
}

// The ids that damaged blocks of one family may have held, as ranges that do not overlap, and the
// jobs with such ids.
class DamagedIds {
 public:
  struct Range {
    JobId first = 0;
    JobId last = 0;
  };

  // Blocks of other families are left out. REQUIRES: keys of these begin with ids.
  DamagedIds(const std::vector<DamagedBlock>& blocks, std::initializer_list<Family> families);
  DamagedIds(const std::vector<DamagedBlock>& blocks, Family family)
      : DamagedIds(blocks, {family}) {}

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

// What damaged blocks of ended jobs and of their order may have held.
struct DamagedEnded {
  explicit DamagedEnded(const std::vector<DamagedBlock>& blocks);

  bool empty() const { return ids.empty() && order_rows_max == 0; }
  // By how much the numbers of rows of the two families may differ.
  uint64_t difference_max() const { return ids.difference_max() + order_rows_max; }

  DamagedIds ids;               // Of blocks of `ended`.
  uint64_t order_rows_max = 0;  // How many rows blocks of `ended_order` may have had.
};

}  // namespace perennial::store
