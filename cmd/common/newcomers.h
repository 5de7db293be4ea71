#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "engine/types/basic.h"

namespace perennial::common {

// Connections that have not shown yet what their place is good for: they have not signed in, have
// not finished a handshake, or ask for nothing. When there are too many, the oldest gives way, and
// never whoever comes. It knows their addresses, so that one of the same address gives way where
// that has more than its share.
class Newcomers {
 public:
  struct Shares {
    size_t connections_max = SIZE_MAX;
    size_t per_address_max = SIZE_MAX;
  };
  explicit Newcomers(const Shares& shares) : shares_(shares) {}

  // The newest. Returns the one that has to give way for it, which stays until remove(). An empty
  // address, which stands for many clients or for this machine, has no share. REQUIRES: it is not
  // there.
  std::optional<ConnId> add(ConnId conn, const std::string& address);
  // Does nothing if it is not there.
  void remove(ConnId conn);

  size_t count() const { return places_.size(); }
  bool holds(ConnId conn) const { return places_.contains(conn); }
  // None: there is none.
  std::optional<ConnId> oldest() const;
  std::optional<ConnId> oldest_of(const std::string& address) const;

 private:
  using Conns = std::list<ConnId>;
  struct Place {
    std::string address;
    Conns::iterator by_age;
    Conns::iterator of_address;
  };

  const Shares shares_;
  Conns by_age_;  // The oldest first, here and below.
  std::unordered_map<std::string, Conns> of_addresses_;
  std::unordered_map<ConnId, Place> places_;
};

}  // namespace perennial::common
