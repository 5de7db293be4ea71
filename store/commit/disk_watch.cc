#include "store/commit/disk_watch.h"

#include <algorithm>

namespace perennial::store {
namespace {

// How often it looks at least, and how often while puts wait.
constexpr Nanos look_interval = nanos_per_second;
constexpr Nanos look_interval_behind = 10 * nanos_per_ms;

}  // namespace

DiskWatch::DiskWatch(Store& store) : store_(store), seen_(see()) {}

// On a small disk after less, so that the low-water mark is not overrun.
bool DiskWatch::is_due() const {
  const Options& options = store_.options();
  const uint64_t bytes =
      options.low_water_bytes == 0 ? look_bytes : std::min(look_bytes, options.low_water_bytes / 8);
  return options.steady_clock() >= look_due_ || store_.bytes_written() - looked_at_bytes_ >= bytes;
}

Nanos DiskWatch::interval() const {
  return store_.behind() ? look_interval_behind : look_interval;
}

bool DiskWatch::look() {
  const DiskSeen before = see();
  if (!store_.look_at_room().ok()) return false;  // The store has reported it.
  store_.look_at_debt();
  look_due_ = store_.options().steady_clock() + interval();
  looked_at_bytes_ = store_.bytes_written();
  seen_ = see();
  return seen_ != before;
}

DiskSeen DiskWatch::see() const {
  const RoomState room = store_.room();
  DiskSeen seen = {.room = room == RoomState::Ok, .behind = store_.behind()};
  seen.state = seen.room && seen.behind ? "behind" : room_state_name(room);
  return seen;
}

}  // namespace perennial::store
