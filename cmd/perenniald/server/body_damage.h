#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/server/body_search.h"
#include "engine/types/basic.h"
#include "store/store.h"

namespace perennial::perenniald {

// Which jobs have lost their bodies to damaged blocks. The store says in which ranges of ids they
// are; this asks which of the jobs there have a body, and has those buried that have none. So
// nobody has to reserve a job to learn that it is lost. P11.
class BodyDamage {
 public:
  struct Hooks {
    std::function<bool(JobId)> exists;
    // The job has no body: it is to be buried, and a line to be logged.
    std::function<void(JobId)> on_lost;
    // The damage is over: no such job is left.
    std::function<void()> on_over;
  };

  // `search` outlives this.
  BodyDamage(BodySearch& search, Hooks hooks);

  // Called about once a second, on the loop. It looks at so many ids at once that it takes a
  // millisecond or two.
  void poll(const store::Store& store);

  // The number of damaged blocks that the store knows, and the jobs without a body, which are left.
  size_t blocks() const { return blocks_.size(); }
  const std::set<JobId>& jobs() const { return lost_; }
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
  const Hooks hooks_;
  uint64_t version_ = 0;  // Of the store's list, as this has seen it.
  std::vector<store::DamagedBlock> blocks_;
  std::optional<Place> next_;
  size_t searches_ = 0;  // That are under way.
  std::set<JobId> lost_;
};

}  // namespace perennial::perenniald
