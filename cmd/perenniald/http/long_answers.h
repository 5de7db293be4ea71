#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_set>

#include "cmd/common/round_robin.h"
#include "engine/types/basic.h"

namespace perennial::http {

// Answers of several steps: how many of them are made at the same time. The others wait for a
// place, and their addresses take turns, so that nobody waits behind all those of another address.
class LongAnswers {
 public:
  explicit LongAnswers(size_t places) : places_(places) {}

  // Whether the answer of this connection may go on: it has a place. Otherwise it waits for one,
  // which end() gives to it.
  bool begin(ConnId conn, const std::string& address) {
    if (made_.contains(conn)) return true;
    if (made_.size() < places_) {
      waiting_.remove(conn);
      made_.insert(conn);
      return true;
    }
    if (!waiting_.holds(conn)) waiting_.add(conn, address);
    return false;
  }
  // The answer is whole, has to wait for something else, or is given up. Returns the connection
  // that has its place now. Does nothing if the answer has no place and waits for none.
  std::optional<ConnId> end(ConnId conn) {
    waiting_.remove(conn);
    if (made_.erase(conn) == 0) return std::nullopt;
    const std::optional<ConnId> next = waiting_.take();
    if (next) made_.insert(*next);
    return next;
  }

 private:
  const size_t places_;
  std::unordered_set<ConnId> made_;
  common::RoundRobin waiting_;
};

}  // namespace perennial::http
