#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "cmd/perenniald/server/bodies/body_search.h"
#include "engine/types/basic.h"
#include "store/store.h"

namespace perennial::perenniald {

// Which jobs have lost their bodies to damaged blocks. The store says in which ranges of ids they
// are; this asks which of the jobs there have a body, and has those buried that have none. So
// nobody has to reserve a job to learn that it is lost. P11.
class BodyDamage {
 public:
  // What it asks of the queue, and tells it.
  class Jobs {
   public:
    virtual ~Jobs() = default;
    virtual bool exists(JobId job) const = 0;
    // The job has no body: it is to be buried, and a line to be logged.
    virtual void on_lost(JobId job) = 0;
    // The damage is over: no such job is left.
    virtual void on_over() = 0;
  };

  // Both outlive this.
  BodyDamage(BodySearch& search, Jobs& jobs) : search_(search), jobs_(jobs) {}

  // Called about once a second, on the loop. It looks at so many ids at once that it takes a
  // millisecond or two.
  void poll(const store::Store& store);

  // The number of damaged blocks that the store knows, of all families, and of jobs without a body
  // that are left.
  size_t blocks() const { return block_count_; }
  size_t lost_count() const { return lost_.size(); }
  // Whether there are such jobs, or it is not known yet.
  bool is_degraded() const { return !lost_.empty() || next_.has_value() || searches_ > 0; }

 private:
  // The next id to look at, in one of the blocks.
  struct Place {
    size_t block = 0;
    JobId id = 0;
  };

  void begin(const store::Store& store);
  void go_on(const store::Store& store);
  void search(const store::Store& store, std::vector<JobId> jobs);
  void forget_gone();

  BodySearch& search_;
  Jobs& jobs_;
  uint64_t version_ = 0;  // Of the store's list, as this has seen it.
  size_t block_count_ = 0;
  std::vector<store::DamagedBlock> blocks_;  // Those of bodies.
  std::optional<Place> next_;
  size_t searches_ = 0;  // That are under way.
  std::set<JobId> lost_;
};

}  // namespace perennial::perenniald
