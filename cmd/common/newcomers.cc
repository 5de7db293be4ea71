#include "cmd/common/newcomers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/types/check.h"

namespace perennial::common {

std::optional<ConnId> Newcomers::add(ConnId conn, const std::string& address) {
  CHECK(!holds(conn));
  Conns& own = of_addresses_[address];
  std::optional<ConnId> gives_way;
  if (!address.empty() && !own.empty() && own.size() >= shares_.per_address_max) {
    gives_way = first_to_give_way(own);
  } else if (count() >= shares_.connections_max) {
    gives_way = first_to_give_way();
  }
  by_age_.push_back(conn);
  own.push_back(conn);
  places_.emplace(conn, Place{.address = address,
                              .by_age = std::prev(by_age_.end()),
                              .of_address = std::prev(own.end())});
  return gives_way;
}

void Newcomers::remove(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end()) return;
  const Place place = std::move(found->second);
  places_.erase(found);
  by_age_.erase(place.by_age);
  const auto own = of_addresses_.find(place.address);
  own->second.erase(place.of_address);
  if (own->second.empty()) of_addresses_.erase(own);
}

std::optional<ConnId> Newcomers::first_to_give_way(const Conns& conns) const {
  const auto found = std::ranges::find_if(
      conns, [this](ConnId conn) { return !shares_.is_unread || !shares_.is_unread(conn); });
  if (found == conns.end()) return std::nullopt;
  return *found;
}

std::optional<ConnId> Newcomers::oldest() const {
  if (by_age_.empty()) return std::nullopt;
  return by_age_.front();
}

std::optional<ConnId> Newcomers::oldest_of(const std::string& address) const {
  const auto own = of_addresses_.find(address);
  if (own == of_addresses_.end()) return std::nullopt;
  return own->second.front();
}

}  // namespace perennial::common
