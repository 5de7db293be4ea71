#include "store/etcd/watch_assembly.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "store/etcd/messages.h"

namespace perennial::store::etcd {

std::optional<WatchEvents> WatchAssembly::add(etcdserverpb::WatchResponse& response) {
  if (response.events().empty()) return WatchEvents{.events = {}, .revision = reported_};
  for (etcdserverpb::Event& event : *response.mutable_events()) held_.push_back(event_of(event));
  std::vector<WatchEvent> complete = std::exchange(held_, {});
  if (response.fragment()) {
    const Revision newest = complete.back().key.mod_revision;
    const auto is_newest = [&](const WatchEvent& e) { return e.key.mod_revision == newest; };
    const auto first = std::find_if(complete.begin(), complete.end(), is_newest);
    held_.assign(std::make_move_iterator(first), std::make_move_iterator(complete.end()));
    complete.erase(first, complete.end());
  }
  if (complete.empty()) return std::nullopt;
  reported_ = complete.back().key.mod_revision;
  return WatchEvents{.events = std::move(complete), .revision = reported_};
}

}  // namespace perennial::store::etcd
