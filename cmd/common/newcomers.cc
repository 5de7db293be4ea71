#include "cmd/common/newcomers.h"

#include "engine/types/check.h"

namespace perennial::common {
namespace {

// An address with fewer is no crowd. A client with a few connections would otherwise give way to
// strangers who have come from as many addresses as there are places, with one connection each.
constexpr size_t few_part_of_share = 8;

// Whether one of this address may give way before the oldest of all. `own`: Newcomers::Address.
bool may_be_ranked(const auto& own, size_t share) {
  const bool are_few = own.count <= share / few_part_of_share;
  return !own.by_age && !are_few && !own.may_give_way.empty();
}

}  // namespace

std::optional<ConnId> Newcomers::add(ConnId conn, const std::string& address, bool by_age) {
  CHECK(!holds(conn));
  const auto own = addresses_.find(address);
  std::optional<ConnId> gives_way;
  if (!address.empty() && own != addresses_.end() && own->second.count >= shares_.per_address_max) {
    gives_way = first_of(own->second.may_give_way);
  } else if (count() >= shares_.connections_max) {
    gives_way = first_to_give_way();
  }
  insert(conn, address, by_age || address.empty());
  return gives_way;
}

void Newcomers::renew(ConnId conn, const std::string& address) {
  CHECK(holds(conn));
  remove(conn);
  insert(conn, address, address.empty());
}

void Newcomers::on_progress(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end() || !found->second.is_set_aside) return;
  Place& place = found->second;
  unrank(place.address->second);
  admit(conn, place);
  rank(place.address->second);
  place.is_set_aside = false;
}

void Newcomers::remove(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  unrank(place.address->second);
  withdraw(place);
  --place.address->second.count;
  rank(place.address->second);
  if (place.address->second.count == 0) addresses_.erase(place.address);
}

// Where an address stands for many clients, each may have only this connection. So its connections
// are not compared with the others by their number.
std::optional<ConnId> Newcomers::first_to_give_way() {
  const std::optional<ConnId> oldest = first_of(may_give_way_);
  if (!oldest || places_.at(*oldest).address->second.by_age) return oldest;
  while (!ranks_.empty()) {
    const std::optional<ConnId> found = first_of(ranks_.begin()->second->may_give_way);
    if (found) return found;
  }
  return first_of(may_give_way_);
}

void Newcomers::insert(ConnId conn, const std::string& address, bool by_age) {
  const Place place = {.address = addresses_.try_emplace(address, Address{.by_age = by_age}).first,
                       .age = ++added_};
  unrank(place.address->second);
  ++place.address->second.count;
  admit(conn, place);
  rank(place.address->second);
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
// them again before on_progress().
std::optional<ConnId> Newcomers::first_of(const ByAge& conns) {
  while (!conns.empty()) {
    const ConnId conn = conns.begin()->second;
    if (!shares_.must_stay || !shares_.must_stay(conn)) return conn;
    Place& place = places_.at(conn);
    unrank(place.address->second);
    withdraw(place);
    rank(place.address->second);
    place.is_set_aside = true;
  }
  return std::nullopt;
}

void Newcomers::rank(const Address& own) {
  if (!may_be_ranked(own, shares_.per_address_max)) return;
  ranks_.emplace(Rank{.count = own.count, .oldest = own.may_give_way.begin()->first}, &own);
}

// REQUIRES: nothing has changed since rank().
void Newcomers::unrank(const Address& own) {
  if (!may_be_ranked(own, shares_.per_address_max)) return;
  ranks_.erase(Rank{.count = own.count, .oldest = own.may_give_way.begin()->first});
}

}  // namespace perennial::common
