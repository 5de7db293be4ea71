#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace perennial::access {

// What is known of the keys that were asked for last: of so many at most. Past that the one is
// forgotten that was asked for longest ago.
template <typename T>
class Recent {
 public:
  explicit Recent(size_t keys_max) : keys_max_(keys_max) {}

  // What is known of a key, or `unknown` for one that was not asked for. Valid until the next call.
  T& of(const std::string& key, T unknown) {
    const auto found = known_.find(key);
    if (found != known_.end()) {
      by_time_.splice(by_time_.end(), by_time_, found->second.place);
      return found->second.value;
    }
    if (known_.size() >= keys_max_) {
      known_.erase(by_time_.front());
      by_time_.pop_front();
    }
    by_time_.push_back(key);
    const auto place = std::prev(by_time_.end());
    return known_.emplace(key, Known{.value = std::move(unknown), .place = place})
        .first->second.value;
  }
  size_t size() const { return known_.size(); }

 private:
  struct Known {
    T value;
    std::list<std::string>::iterator place;
  };

  const size_t keys_max_;
  absl::flat_hash_map<std::string, Known> known_;
  std::list<std::string> by_time_;  // What was asked for longest ago is the first.
};

}  // namespace perennial::access
