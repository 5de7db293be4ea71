#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

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
    // Whether a connection has sent something, and nothing of it was read yet. It never gives way,
    // since it may hold what it came for, such as a good token. So there may be as many more as the
    // server is behind with reading. None: no connection is.
    std::function<bool(ConnId)> is_unread = {};
  };
  explicit Newcomers(Shares shares) : shares_(std::move(shares)) {}

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
  // The oldest one that may give way. None: there is none.
  std::optional<ConnId> first_to_give_way() const { return first_to_give_way(by_age_); }

 private:
  using Conns = std::list<ConnId>;
  struct Place {
    std::string address;
    Conns::iterator by_age;
    Conns::iterator of_address;
  };

  std::optional<ConnId> first_to_give_way(const Conns& conns) const;

  const Shares shares_;
  Conns by_age_;  // The oldest first, here and below.
  std::unordered_map<std::string, Conns> of_addresses_;
  std::unordered_map<ConnId, Place> places_;
};

}  // namespace perennial::common
