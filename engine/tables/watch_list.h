#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/containers/weights.h"
#include "engine/tables/tube.h"

namespace perennial::engine {

// The tubes that one connection watches, in the order in which beanstalkd answers
// "list-tubes-watched": by insertion, but the last tube takes the place of one that is ignored. The
// list owns no tube and does not count watchers.
//
// Membership in a long list is found through an index, because a connection may watch watched_max
// tubes and send a watch for each of them again.
class WatchList {
 public:
  size_t size() const { return links().size(); }
  bool empty() const { return links().empty(); }
  // The links of the watched tubes. The span is valid until the list is changed.
  std::span<WatchLink> links() { return std::span(links_).subspan(first_left_ ? 1 : 0); }
  std::span<const WatchLink> links() const {
    return std::span(links_).subspan(first_left_ ? 1 : 0);
  }
  // The sum of the lengths of the names of all tubes in the list.
  size_t name_bytes() const { return name_bytes_; }

  size_t memory_bytes() const {
    constexpr size_t place_bytes = sizeof(std::pair<TubeId, uint32_t>) + 1;
    return links_.capacity() * sizeof(WatchLink) + places_.capacity() * place_bytes +
           weights_.memory_bytes();
  }

  // Those of the tubes in the list. A tube that is removed and added again has the weight 1.
  const Weights& weights() const { return weights_; }
  Weights& weights() { return weights_; }

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
    weights_.forget(tube.id);
    name_bytes_ -= tube.name.size();
    const WatchLink last = links_.back();
    links_[place] = last;
    links_.pop_back();
    // The memory of a list that was long is not kept for a short one.
    if (links_.size() < links_.capacity() / 4) links_.shrink_to_fit();
    if (places_.empty()) return;
    places_[last.tube] = static_cast<uint32_t>(place);
    places_.erase(tube.id);
    if (links_.size() <= scanned_max / 2) places_ = {};
  }

  // For a connection that closes: removes the tube that beanstalkd leaves next, and returns it.
  // That is the first tube, and after it the others from the last to the second. The order shows in
  // list-tubes when several tubes end. After the first call only links(), empty(), memory_bytes()
  // and leave_next() may be called. REQUIRES: !empty().
  TubeId leave_next() {
    const TubeId tube = (first_left_ ? links_.back() : links_.front()).tube;
    if (first_left_) links_.pop_back();
    first_left_ = true;
    return tube;
  }

 private:
  static constexpr size_t nowhere = SIZE_MAX;
  // A list up to this length is searched linearly, which is faster and needs no memory for an
  // index.
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
  // The index of links_ by tube. Empty while the list is short.
  absl::flat_hash_map<TubeId, uint32_t> places_;
  Weights weights_;
  size_t name_bytes_ = 0;
  bool first_left_ = false;  // The first tube is no longer watched, but its entry remains.
};

}  // namespace perennial::engine
