#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "cmd/perenniald/core/memory_budget.h"

namespace perennial::core {

// What a client has sent that has not been parsed: it came while a command before it was
// unanswered, or was too much for one turn. Counted in the budget.
class Backlog {
 public:
  Backlog() = default;
  // `budget` outlives it.
  explicit Backlog(MemoryBudget& budget) : charge_(budget) { recount(); }

  bool empty() const { return size() == 0; }
  size_t size() const { return bytes_.size() - at_; }
  // What it takes, room in reserve included.
  size_t memory_bytes() const { return bytes_.capacity(); }

  void keep(std::span<const char> bytes) {
    bytes_.append(bytes.data(), bytes.size());
    recount();
  }

  // All of it, to be parsed: nothing is added to it before what is left comes back.
  struct Taken {
    std::string bytes;
    size_t at = 0;  // The first that has not been parsed.
  };
  Taken take() {
    Taken taken = {std::exchange(bytes_, {}), std::exchange(at_, 0)};
    recount();
    return taken;
  }
  // REQUIRES: it is empty. What is left is moved to the front when that is little.
  void put_back(Taken&& rest) {
    const bool move = rest.at > rest.bytes.size() / 2;
    bytes_ = move ? rest.bytes.substr(rest.at) : std::move(rest.bytes);
    at_ = move ? 0 : rest.at;
    recount();
  }

 private:
  void recount() { charge_.set({.memory = memory_bytes()}); }

  std::string bytes_;
  size_t at_ = 0;
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
