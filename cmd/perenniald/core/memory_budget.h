#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace perennial::core {

// Memory by purpose, in bytes.
struct MemoryUse {
  size_t memory = 0;   // All of it.
  size_t answers = 0;  // The part that holds answers that no client has taken yet.
  size_t large = 0;    // The part of these that holds large answers.

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

// Sums up the memory of all charges, and says whether one more large answer is admitted. It never
// refuses a charge: code that can wait asks admits() first. A budget that could refuse would need
// an error path at each allocation.
class MemoryBudget {
 public:
  struct Limits {
    size_t memory_bytes_max = 0;  // 0: no limit.
    size_t answers_bytes_max = 0;
  };

  explicit MemoryBudget(const Limits& limits) : limits_(limits) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // What one owner has taken from the budget. It is given back when the charge is destroyed.
  class Charge {
   public:
    Charge() = default;
    // `budget` outlives this.
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

    // Sets all that the owner has taken, in place of the value before.
    void set(const MemoryUse& use) {
      if (budget_ == nullptr) return;
      budget_->used_ += use;
      budget_->used_ -= use_;
      use_ = use;
    }
    const MemoryUse& use() const { return use_; }

   private:
    MemoryBudget* budget_ = nullptr;  // Null: it counts nowhere.
    MemoryUse use_;
  };

  const MemoryUse& used() const { return used_; }

  // `elsewhere`: bytes of memory that no charge counts.
  // How many bytes are left; SIZE_MAX without a limit.
  size_t memory_left(size_t elsewhere) const {
    if (limits_.memory_bytes_max == 0) return SIZE_MAX;
    const size_t used = used_.memory + elsewhere;
    return used < limits_.memory_bytes_max ? limits_.memory_bytes_max - used : 0;
  }
  // Whether a large answer of so many bytes may be made. One large answer is always admitted.
  // Otherwise an answer that is larger than the budget, or that comes while others have taken all
  // of it, would never be made.
  bool admits(size_t bytes, size_t elsewhere) const {
    if (used_.large == 0) return true;
    return used_.answers + bytes <= limits_.answers_bytes_max && bytes <= memory_left(elsewhere);
  }
  // Whether all answers together have taken more than their limit.
  bool answers_are_scarce() const { return used_.answers > limits_.answers_bytes_max; }

 private:
  const Limits limits_;
  MemoryUse used_;
};

}  // namespace perennial::core
