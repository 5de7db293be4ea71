#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"

namespace perennial::core {

// The bodies that answers hold until a client has taken them: each is in memory, and counted, once,
// however many answers share it.
class BodyLoans {
  struct Lent;

 public:
  // One answer's share of a body, given back with it. Empty: of none.
  class Loan {
   public:
    Loan() = default;
    Loan(Loan&& other) noexcept : lent_(std::exchange(other.lent_, nullptr)) {}
    Loan& operator=(Loan&& other) noexcept {
      std::swap(lent_, other.lent_);
      return *this;
    }
    ~Loan();

    explicit operator bool() const { return lent_ != nullptr; }
    // REQUIRES: it is not empty.
    const Body& body() const;

   private:
    friend class BodyLoans;
    explicit Loan(Lent* lent) : lent_(lent) {}
    Lent* lent_ = nullptr;
  };

  // A body of more than `large_bytes_min` counts as a large answer. `budget` outlives the loans.
  BodyLoans(MemoryBudget& budget, size_t large_bytes_min)
      : budget_(budget), large_bytes_min_(large_bytes_min) {}
  BodyLoans(const BodyLoans&) = delete;
  BodyLoans& operator=(const BodyLoans&) = delete;
  ~BodyLoans();

  // One more loan of a body that is lent; an empty one if it is not.
  Loan borrow(JobId id);
  // REQUIRES: this job's body is not lent. `is_cached`: its memory counts elsewhere until
  // on_uncached().
  Loan lend(JobId id, Body&& body, bool is_cached);
  // Of no job. It is shared only by whoever has a loan of it.
  Loan lend_text(Body&& text);
  // One more loan of the same. REQUIRES: `loan` is not empty.
  Loan share(const Loan& loan);

  bool is_lent(JobId id) const { return by_id_.contains(id); }
  void on_uncached(JobId id);
  // What all loans have taken, counted anew. For Core::check().
  MemoryUse use() const;

 private:
  static constexpr JobId no_job = 0;

  Loan add(JobId id, Body&& body, bool is_cached);
  void give_back(Lent& lent);

  MemoryBudget& budget_;
  const size_t large_bytes_min_;
  absl::flat_hash_map<JobId, Lent*> by_id_;
  MemoryUse texts_;
};

struct BodyLoans::Lent {
  BodyLoans& owner;
  JobId id;
  Body body;
  MemoryBudget::Charge charge;
  uint32_t loans = 1;
};

inline const Body& BodyLoans::Loan::body() const {
  return lent_->body;
}

}  // namespace perennial::core
