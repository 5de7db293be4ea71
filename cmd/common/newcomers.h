#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/types/basic.h"

namespace perennial::common {

// Connections that have not shown yet what their place is good for: they have not signed in, have
// not finished a handshake, or ask for nothing. When there are too many, one gives way, and never
// whoever comes: the oldest one of the address that has the most, if that has more than an eighth
// of a share, and else the oldest of all. Where an address has its share, it is one of its own.
//
// Each call takes logarithmic time, but for connections that are found to have to stay: each is
// found so at most once after add(), renew() or on_progress().
class Newcomers {
 public:
  struct Shares {
    size_t connections_max = SIZE_MAX;
    size_t per_address_max = SIZE_MAX;
    // Whether a connection has to stay for now, since the server is behind with it: it has sent
    // something that has to be read first, such as a good token, or takes an answer of which there
    // is more. It does not give way. So there may be as many more as the server is behind with.
    // None: no connection has to.
    std::function<bool(ConnId)> must_stay = {};
  };
  explicit Newcomers(Shares shares) : shares_(std::move(shares)) {}

  // The newest. Returns the one that has to give way for it, which stays until remove(). With
  // `by_age` the address tells nothing of who is there, as that of this machine, and its
  // connections give way by their age alone, within their share. So do those of an empty address,
  // which stands for many, and has no share. REQUIRES: it is not there.
  std::optional<ConnId> add(ConnId conn, const std::string& address, bool by_age = false);
  // Something of it was read, and it goes on as the newest, at this address. None gives way for it.
  // REQUIRES: it is there.
  void renew(ConnId conn, const std::string& address);
  // What it had to stay for may be done: something of it was read, or was sent. It keeps its age.
  // Does nothing if it is not there.
  void on_progress(ConnId conn);
  // Does nothing if it is not there.
  void remove(ConnId conn);

  size_t count() const { return places_.size(); }
  bool holds(ConnId conn) const { return places_.contains(conn); }
  // The one that gives way when there are too many. None: there is none that may.
  std::optional<ConnId> first_to_give_way();

 private:
  using ByAge = std::map<uint64_t, ConnId>;  // By Place::age: the oldest first.
  struct Address {
    bool by_age = false;
    size_t count = 0;
    ByAge may_give_way = {};  // Those that are not set aside.
  };
  using Addresses = std::map<std::string, Address>;
  struct Place {
    Addresses::iterator address;
    uint64_t age = 0;
    bool is_set_aside = false;  // It was found to have to stay.
  };
  // Whose turn it is to give way: the most first, and of as many the one whose first is the oldest.
  struct Rank {
    size_t count = 0;
    uint64_t oldest = 0;
    bool operator<(const Rank& other) const {
      return count != other.count ? count > other.count : oldest < other.oldest;
    }
  };

  void insert(ConnId conn, const std::string& address, bool by_age);
  void admit(ConnId conn, const Place& place);
  void withdraw(const Place& place);
  std::optional<ConnId> first_of(const ByAge& conns);
  void rank(const Address& own);
  void unrank(const Address& own);

  const Shares shares_;
  uint64_t added_ = 0;
  ByAge may_give_way_;                    // Of all addresses.
  std::map<Rank, const Address*> ranks_;  // Those of which one may give way, but not by_age.
  Addresses addresses_;
  std::unordered_map<ConnId, Place> places_;
};

}  // namespace perennial::common
