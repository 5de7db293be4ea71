// Listings of more tubes than one part may name.

#include "engine/listing.h"

#include <algorithm>
#include <utility>

#include "engine/state.h"

namespace perennial::engine {

// All connections that ask for all tubes before that listing begins share one listing.
void State::list(ConnId asker, ConnId watcher) {
  const bool is_shared = watcher == 0 && !list_askers_.empty();
  if (watcher == 0) list_askers_.push_back(asker);
  if (!is_shared) listings_.push_back({.watcher = watcher});
}

void State::tick_listings() {
  while (!is_listing() && !ended_tubes_.empty() && !turn_.cost_is_spent()) {
    turn_.spend(cost::tube_freed);
    ended_tubes_.pop_back();
  }
  while (!listings_.empty() && (is_listing() || ended_tubes_.empty()) && !turn_.cost_is_spent()) {
    Listing& listing = listings_.front();
    if (!listing.begun) begin(listing);
    give_part(listing);
    if (listing.next == listing.tubes.size()) listings_.pop_front();
  }
}

void State::begin(Listing& listing) {
  listing.begun = true;
  if (listing.watcher == 0) {
    listing.askers = std::exchange(list_askers_, {});
    listing.tubes.assign(tube_list_.begin(), tube_list_.end());
    listing.size = view().tubes_size();
  } else if (conns_.contains(listing.watcher)) {
    listing.askers = {listing.watcher};
    listing.size = view().watched_size(listing.watcher);
    listing.tubes.reserve(listing.size.count);
    const Conn& watcher = conn_of(listing.watcher);
    for (const WatchLink& link : watcher.watched.links()) {
      listing.tubes.push_back(&tube_of(link.tube));
    }
  }
  turn_.spend(listing.tubes.size() * cost::tube_collected);
}

void State::give_part(Listing& listing) {
  std::erase_if(listing.askers, [this](ConnId id) {
    const auto found = conns_.find(id);
    return found == conns_.end() || found->second->closing;
  });
  if (listing.askers.empty()) {
    listing.next = listing.tubes.size();
    return;
  }
  const size_t end =
      std::min<size_t>(listing.next + limits_.names_per_part_max, listing.tubes.size());
  turn_.spend((end - listing.next) * cost::name_listed + listing.askers.size() * cost::part_sent);
  NamesPart part = {.conns = listing.askers,
                    .size = listing.size,
                    .is_first = listing.next == 0,
                    .is_last = end == listing.tubes.size()};
  part.names.names.reserve(end - listing.next);
  size_t bytes = 0;
  for (; listing.next < end; ++listing.next) {
    bytes += part.names.names.emplace_back(listing.tubes[listing.next]->name).size();
  }
  turn_.spend(bytes / cost::name_bytes_per_cost);
  turn_.give_part(std::move(part));
}

}  // namespace perennial::engine
