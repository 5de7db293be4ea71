#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "cmd/common/secret.h"
#include "cmd/perenniald/core/memory_budget.h"

namespace perennial::core {

// The bytes of one connection that were read and not parsed yet. They followed an unanswered
// command, or were too many for one turn. The budget counts them. There may be a token among them,
// so memory that it gives back is wiped.
class Backlog {
 public:
  Backlog() = default;
  // `budget` outlives it.
  explicit Backlog(MemoryBudget& budget) : charge_(budget) { recount(); }

  bool empty() const { return size() == 0; }
  size_t size() const { return bytes_.size() - at_; }
  // The capacity that it has allocated, in bytes.
  size_t memory_bytes() const { return bytes_.capacity(); }

  void keep(std::span<const char> bytes) {
    bytes_.append(bytes.data(), bytes.size());
    recount();
  }

  // Whether the bytes hold the end of a line. Each byte is searched once, however often this is
  // asked.
  bool holds_line() {
    searched_ = std::max(searched_, at_);
    const size_t end = bytes_.find("\r\n", searched_ > at_ ? searched_ - 1 : at_);
    searched_ = end == common::SecretText::npos ? bytes_.size() : end;
    return end != common::SecretText::npos;
  }

  // All of the bytes, to be parsed. keep() must not be called before put_back().
  struct Taken {
    common::SecretText bytes;
    size_t at = 0;  // The first byte that has not been parsed.
  };
  Taken take() {
    Taken taken = {std::exchange(bytes_, {}), std::exchange(at_, 0)};
    searched_ = 0;
    recount();
    return taken;
  }
  // REQUIRES: the backlog is empty. Bytes that are left are moved to the front only if they are the
  // smaller half, so each byte is moved at most once on average.
  void put_back(Taken&& rest) {
    const bool move = rest.at > rest.bytes.size() / 2;
    bytes_ = move ? rest.bytes.substr(rest.at) : std::move(rest.bytes);
    at_ = move ? 0 : rest.at;
    searched_ = 0;
    recount();
  }

 private:
  void recount() { charge_.set({.memory = memory_bytes()}); }

  common::SecretText bytes_;
  size_t at_ = 0;
  size_t searched_ = 0;  // No line ends before this byte.
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
