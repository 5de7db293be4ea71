// Listings of more tubes than one part may name.

#include <algorithm>
#include <utility>

#include "engine/operations/operations.h"

namespace perennial::engine {
namespace {

void begin(State& state, Listing& listing) {
  listing.begun = true;
  state.tubes.ended.are_kept = true;
  if (listing.watcher == 0) {
    listing.askers = std::exchange(state.listings.askers, {});
    listing.tubes.assign(state.tubes.list().begin(), state.tubes.list().end());
    listing.size = state.tubes.names_size();
  } else if (const Conn* const watcher = state.conns.find(listing.watcher)) {
    listing.askers = {listing.watcher};
    listing.size = {watcher->watched.size(), watcher->watched.name_bytes()};
    listing.tubes.reserve(listing.size.count);
    for (const WatchLink& link : watcher->watched.links()) {
      listing.tubes.push_back(&state.tubes.of(link.tube));
    }
  }
  state.turn.spend(listing.tubes.size() * cost::tube_collected);
}

void give_part(State& state, Listing& listing) {
  std::erase_if(listing.askers, [&state](ConnId id) {
    const Conn* const asker = state.conns.find(id);
    return asker == nullptr || asker->closing;
  });
  if (listing.askers.empty()) {
    listing.next = listing.tubes.size();
    return;
  }
  const size_t end =
      std::min<size_t>(listing.next + state.limits.names_per_part_max, listing.tubes.size());
  state.turn.spend((end - listing.next) * cost::name_listed +
                   listing.askers.size() * cost::part_sent);
  NamesPart part = {.conns = listing.askers,
                    .size = listing.size,
                    .is_first = listing.next == 0,
                    .is_last = end == listing.tubes.size()};
  part.names.names.reserve(end - listing.next);
  size_t bytes = 0;
  for (; listing.next < end; ++listing.next) {
    bytes += part.names.names.emplace_back(listing.tubes[listing.next]->name).size();
  }
  state.turn.spend(bytes / cost::name_bytes_per_cost);
  state.turn.give_part(std::move(part));
}

}  // namespace

// All connections that ask for all tubes before that listing begins share one listing.
void list_in_parts(State& state, ConnId asker, ConnId watcher) {
  Listings& listings = state.listings;
  const bool is_shared = watcher == 0 && !listings.askers.empty();
  if (watcher == 0) listings.askers.push_back(asker);
  if (!is_shared) listings.queue.push_back({.watcher = watcher});
}

// The tubes of a listing are freed before the next one begins.
void give_listings(State& state) {
  std::deque<Listing>& queue = state.listings.queue;
  TubeTable::Ended& ended = state.tubes.ended;
  while (!ended.are_kept && !ended.tubes.empty() && !state.turn.cost_is_spent()) {
    state.turn.spend(cost::tube_freed);
    ended.tubes.pop_back();
  }
  while (!queue.empty() && (ended.are_kept || ended.tubes.empty()) && !state.turn.cost_is_spent()) {
    Listing& listing = queue.front();
    if (!listing.begun) begin(state, listing);
    give_part(state, listing);
    if (listing.next < listing.tubes.size()) continue;
    queue.pop_front();
    ended.are_kept = false;
  }
}

}  // namespace perennial::engine
