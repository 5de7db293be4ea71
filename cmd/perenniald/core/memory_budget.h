#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace perennial::core {

// What memory is taken for, in bytes.
struct MemoryUse {
  size_t memory = 0;   // All of it.
  size_t answers = 0;  // What of that is answers that no client has taken yet.
  size_t large = 0;    // What of these is answers that each have to ask before they are made.

  bool operator==(const MemoryUse&) const = default;
  MemoryUse& operator+=(const MemoryUse& other) {
    memory += other.memory;
    answers += other.answers;
    large += other.large;
    return *this;
  }
  MemoryUse& operator-=(const MemoryUse& other) {
    memory -= other.memory;
    answers -= other.answers;
    large -= other.large;
    return *this;
  }
};

// Sums up the memory of all who have a Charge, and says whether there is room for one more answer.
// Never refuses a charge: whoever can wait asks first.
class MemoryBudget {
 public:
  struct Limits {
    size_t memory_bytes_max = 0;  // 0: none.
    size_t answers_bytes_max = 0;
  };

  explicit MemoryBudget(const Limits& limits) : limits_(limits) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // What one owner has taken. It is given back with the charge.
  class Charge {
   public:
    Charge() = default;
    // `budget` outlives it.
    explicit Charge(MemoryBudget& budget, const MemoryUse& use = {}) : budget_(&budget) {
      set(use);
    }
    Charge(Charge&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)), use_(std::exchange(other.use_, {})) {}
    Charge& operator=(Charge&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(use_, other.use_);
      return *this;
    }
    ~Charge() { set({}); }

    // All that it has taken from now on.
    void set(const MemoryUse& use) {
      if (budget_ == nullptr) return;
      budget_->used_ += use;
      budget_->used_ -= use_;
      use_ = use;
    }
    const MemoryUse& use() const { return use_; }

   private:
    MemoryBudget* budget_ = nullptr;  // None: it counts nowhere.
    MemoryUse use_;
  };

  const MemoryUse& used() const { return used_; }

  // `elsewhere`: memory that no charge counts.
  // How much is left for anything; SIZE_MAX without a limit.
  size_t memory_left(size_t elsewhere) const {
    if (limits_.memory_bytes_max == 0) return SIZE_MAX;
    const size_t used = used_.memory + elsewhere;
    return used < limits_.memory_bytes_max ? limits_.memory_bytes_max - used : 0;
  }
  // Whether a large answer of so many bytes may be made. One may always, so that one that is larger
  // than the budget, or comes while others have taken all of it, is made in the end.
  bool admits(size_t bytes, size_t elsewhere) const {
    if (used_.large == 0) return true;
    return used_.answers + bytes <= limits_.answers_bytes_max && bytes <= memory_left(elsewhere);
  }
  // Whether answers have taken more than they may together.
  bool answers_are_scarce() const { return used_.answers > limits_.answers_bytes_max; }

 private:
  const Limits limits_;
  MemoryUse used_;
};

}  // namespace perennial::core
