#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/types/basic.h"

namespace perennial::common {

// Connections that wait for their turn. Their addresses take turns, and the connections of one
// address come in their order. So whoever comes from an address of its own waits for one connection
// of each other address, however many of those wait. Each call takes logarithmic time.
class RoundRobin {
 public:
  // REQUIRES: it does not wait.
  void add(ConnId conn, const std::string& address);
  // Does nothing if it does not wait.
  void remove(ConnId conn);
  // The next one, which does not wait any more. None: none waits.
  std::optional<ConnId> take();

  bool empty() const { return places_.empty(); }
  bool holds(ConnId conn) const { return places_.contains(conn); }

 private:
  struct Address;
  using Addresses = std::map<std::string, Address>;
  struct Address {
    std::list<ConnId> conns;
    std::list<Addresses::iterator>::iterator turn;  // In turns_.
  };
  struct Place {
    Addresses::iterator address;
    std::list<ConnId>::iterator at;
  };

  Addresses addresses_;                   // Those of which one waits.
  std::list<Addresses::iterator> turns_;  // All of them; the next is the first.
  std::unordered_map<ConnId, Place> places_;
};

}  // namespace perennial::common
