#include "cmd/common/newcomers.h"

#include "engine/types/check.h"

namespace perennial::common {

std::optional<ConnId> Newcomers::add(ConnId conn, const std::string& address) {
  CHECK(!holds(conn));
  const auto own = addresses_.find(address);
  std::optional<ConnId> gives_way;
  if (!address.empty() && own != addresses_.end() && own->second.count >= shares_.per_address_max) {
    gives_way = first_of(own->second.may_give_way);
  } else if (count() >= shares_.connections_max) {
    gives_way = first_to_give_way();
  }
  insert(conn, address);
  return gives_way;
}

void Newcomers::renew(ConnId conn, const std::string& address) {
  CHECK(holds(conn));
  remove(conn);
  insert(conn, address);
}

void Newcomers::on_read(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end() || !found->second.is_set_aside) return;
  Place& place = found->second;
  unrank(*place.address);
  admit(conn, place);
  rank(*place.address);
  place.is_set_aside = false;
}

void Newcomers::remove(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  unrank(*place.address);
  withdraw(place);
  --place.address->second.count;
  rank(*place.address);
  if (place.address->second.count == 0) addresses_.erase(place.address);
}

// Those of the empty address are many clients, of which each may have only this one. They are not
// compared with the others by their number.
std::optional<ConnId> Newcomers::first_to_give_way() {
  const std::optional<ConnId> oldest = first_of(may_give_way_);
  if (!oldest || places_.at(*oldest).address->first.empty()) return oldest;
  while (!ranks_.empty()) {
    const std::optional<ConnId> found = first_of(ranks_.begin()->second->may_give_way);
    if (found) return found;
  }
  return first_of(may_give_way_);
}

void Newcomers::insert(ConnId conn, const std::string& address) {
  const Place place = {.address = addresses_.try_emplace(address).first, .age = ++added_};
  unrank(*place.address);
  ++place.address->second.count;
  admit(conn, place);
  rank(*place.address);
  places_.emplace(conn, place);
}

void Newcomers::admit(ConnId conn, const Place& place) {
  may_give_way_.emplace(place.age, conn);
  place.address->second.may_give_way.emplace(place.age, conn);
}

void Newcomers::withdraw(const Place& place) {
  may_give_way_.erase(place.age);
  place.address->second.may_give_way.erase(place.age);
}

// The oldest of them that may give way. Those that may not are set aside, so that nobody looks at
// them again before they were read.
std::optional<ConnId> Newcomers::first_of(const ByAge& conns) {
  while (!conns.empty()) {
    const ConnId conn = conns.begin()->second;
    if (!shares_.is_unread || !shares_.is_unread(conn)) return conn;
    Place& place = places_.at(conn);
    unrank(*place.address);
    withdraw(place);
    rank(*place.address);
    place.is_set_aside = true;
  }
  return std::nullopt;
}

void Newcomers::rank(const Addresses::value_type& address) {
  const auto& [name, own] = address;
  if (name.empty() || own.may_give_way.empty()) return;
  ranks_.emplace(Rank{.count = own.count, .oldest = own.may_give_way.begin()->first}, &own);
}

// REQUIRES: nothing has changed since rank().
void Newcomers::unrank(const Addresses::value_type& address) {
  const auto& [name, own] = address;
  if (name.empty() || own.may_give_way.empty()) return;
  ranks_.erase(Rank{.count = own.count, .oldest = own.may_give_way.begin()->first});
}

}  // namespace perennial::common
