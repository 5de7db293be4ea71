#include "cmd/common/round_robin.h"

#include <iterator>

#include "engine/types/check.h"

namespace perennial::common {

void RoundRobin::add(ConnId conn, const std::string& address) {
  CHECK(!holds(conn));
  const auto [own, is_new] = addresses_.try_emplace(address);
  if (is_new) own->second.turn = turns_.insert(turns_.end(), own);
  own->second.conns.push_back(conn);
  places_.emplace(conn, Place{.address = own, .at = std::prev(own->second.conns.end())});
}

void RoundRobin::remove(ConnId conn) {
  const auto found = places_.find(conn);
  if (found == places_.end()) return;
  const Place place = found->second;
  places_.erase(found);
  Address& own = place.address->second;
  own.conns.erase(place.at);
  if (!own.conns.empty()) return;
  turns_.erase(own.turn);
  addresses_.erase(place.address);
}

std::optional<ConnId> RoundRobin::take() {
  if (turns_.empty()) return std::nullopt;
  turns_.splice(turns_.end(), turns_, turns_.begin());
  const ConnId conn = turns_.back()->second.conns.front();
  remove(conn);
  return conn;
}

}  // namespace perennial::common
