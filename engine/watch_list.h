#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/tube.h"

namespace perennial::engine {

// The tubes that one connection watches, in the order of protocol.txt's "list-tubes-watched" as
// beanstalkd keeps it: by insertion, and the last one takes the place of one that is ignored. Owns
// no tube, and does not count watchers.
//
// Whether a tube is among many is found through an index: a connection may watch watched_max, and
// ask for each of them again.
class WatchList {
 public:
  size_t size() const { return links().size(); }
  bool empty() const { return links().empty(); }
  // Those that are watched. They stay where they are until the list is changed.
  std::span<WatchLink> links() { return std::span(links_).subspan(first_left_ ? 1 : 0); }
  std::span<const WatchLink> links() const {
    return std::span(links_).subspan(first_left_ ? 1 : 0);
  }
  // The bytes of all their names together.
  size_t name_bytes() const { return name_bytes_; }

  size_t memory_bytes() const {
    constexpr size_t place_bytes = sizeof(std::pair<TubeId, uint32_t>) + 1;
    return links_.capacity() * sizeof(WatchLink) + places_.capacity() * place_bytes;
  }

  bool contains(const Tube& tube) const { return place_of(tube.id) != nowhere; }

  // REQUIRES: !contains(tube).
  void add(Conn& conn, const Tube& tube) {
    links_.push_back({.tube = tube.id, .conn = &conn});
    name_bytes_ += tube.name.size();
    if (!places_.empty()) {
      places_.emplace(tube.id, static_cast<uint32_t>(links_.size() - 1));
    } else if (links_.size() > scanned_max) {
      for (uint32_t i = 0; i < links_.size(); ++i) places_.emplace(links_[i].tube, i);
    }
  }

  // REQUIRES: contains(tube).
  void remove(const Tube& tube) {
    const size_t place = place_of(tube.id);
    CHECK(place != nowhere);
    name_bytes_ -= tube.name.size();
    const WatchLink last = links_.back();
    links_[place] = last;
    links_.pop_back();
    // The memory of a long list is not kept for a short one.
    if (links_.size() < links_.capacity() / 4) links_.shrink_to_fit();
    if (places_.empty()) return;
    places_[last.tube] = static_cast<uint32_t>(place);
    places_.erase(tube.id);
    if (links_.size() <= scanned_max / 2) places_ = {};
  }

  // For a connection that closes: takes out the one that beanstalkd leaves next. That is the first,
  // then the others from the last, which shows in the order of list-tubes when several end. From
  // then on nothing may be asked but for links() and this. REQUIRES: !empty().
  TubeId leave_next() {
    const TubeId tube = (first_left_ ? links_.back() : links_.front()).tube;
    if (first_left_) links_.pop_back();
    first_left_ = true;
    return tube;
  }

 private:
  static constexpr size_t nowhere = SIZE_MAX;
  // Up to so many are looked through, which is quicker and needs no memory.
  static constexpr size_t scanned_max = 16;

  size_t place_of(TubeId tube) const {
    if (!places_.empty()) {
      const auto found = places_.find(tube);
      return found != places_.end() ? found->second : nowhere;
    }
    for (size_t i = 0; i < links_.size(); ++i) {
      if (links_[i].tube == tube) return i;
    }
    return nowhere;
  }

  std::vector<WatchLink> links_;
  absl::flat_hash_map<TubeId, uint32_t> places_;  // Empty while there are few.
  size_t name_bytes_ = 0;
  bool first_left_ = false;  // The first is not watched any more, and keeps its place.
};

}  // namespace perennial::engine
