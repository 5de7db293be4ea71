#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"

namespace perennial::core {

// The bodies that answers hold until clients have taken them. Each body is in memory, and counted
// by the budget, once, no matter how many answers share it. A std::shared_ptr would also need a
// deleter that tells the budget and a map of weak pointers to find a body by its job, and it would
// count atomically for a single thread.
class SharedBodies {
  struct Entry;

 public:
  // One answer's share of a body. The body is freed with its last share. An empty one shares none.
  class SharedBody {
   public:
    SharedBody() = default;
    SharedBody(SharedBody&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    SharedBody& operator=(SharedBody&& other) noexcept {
      std::swap(entry_, other.entry_);
      return *this;
    }
    ~SharedBody();

    explicit operator bool() const { return entry_ != nullptr; }
    // REQUIRES: it is not empty.
    const Body& body() const;

   private:
    friend class SharedBodies;
    explicit SharedBody(Entry* entry) : entry_(entry) {}
    Entry* entry_ = nullptr;
  };

  // A body of more than `large_bytes_min` counts as a large answer. `budget` outlives all shares.
  SharedBodies(MemoryBudget& budget, size_t large_bytes_min)
      : budget_(budget), large_bytes_min_(large_bytes_min) {}
  SharedBodies(const SharedBodies&) = delete;
  SharedBodies& operator=(const SharedBodies&) = delete;
  ~SharedBodies();

  // Returns one more share of a job's body, or an empty one if no answer shares that body now.
  SharedBody find(JobId id);
  // Returns the first share of a job's body. REQUIRES: no answer shares it. `is_cached`: the body
  // cache counts its memory until on_uncached().
  SharedBody share(JobId id, Body&& body, bool is_cached);
  // Returns the first share of a text that belongs to no job, and that find() does not find.
  SharedBody share_text(Body&& text);
  // Returns one more share of the same body. REQUIRES: `shared` is not empty.
  SharedBody share(const SharedBody& shared);

  bool is_shared_now(JobId id) const { return by_id_.contains(id); }
  void on_uncached(JobId id);
  // What all shared bodies have charged, summed up anew. For Core::check().
  MemoryUse use() const;

 private:
  static constexpr JobId no_job = 0;

  SharedBody add(JobId id, Body&& body, bool is_cached);
  void release(Entry& entry);

  MemoryBudget& budget_;
  const size_t large_bytes_min_;
  absl::flat_hash_map<JobId, Entry*> by_id_;
  MemoryUse texts_;
};

struct SharedBodies::Entry {
  SharedBodies& owner;
  JobId id;
  Body body;
  MemoryBudget::Charge charge;
  uint32_t shares = 1;
};

inline const Body& SharedBodies::SharedBody::body() const {
  return entry_->body;
}

}  // namespace perennial::core
