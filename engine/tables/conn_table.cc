#include "engine/tables/conn_table.h"

#include <algorithm>
#include <utility>

#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// protocol.txt, "reserve": DEADLINE_SOON is answered in the last second of a reservation.
constexpr Nanos safety_margin = nanos_per_second;

}  // namespace

Conn& ConnTable::of(ConnId id) {
  const auto found = conns_.find(id);
  CHECK(found != conns_.end());
  return *found->second;
}

const Conn* ConnTable::find(ConnId id) const {
  const auto found = conns_.find(id);
  return found != conns_.end() ? found->second.get() : nullptr;
}

size_t ConnTable::memory_bytes() const {
  constexpr size_t conn_bytes = sizeof(Conn) + 512;
  return conns_.size() * conn_bytes + watched_bytes_;
}

// ---- Come and go.

void ConnTable::open(ConnId id, bool is_internal) {
  CHECK(id != former);
  auto conn = std::make_unique<Conn>();
  conn->id = id;
  conn->is_internal = is_internal;
  Tube& tube = tubes_.of(0);
  ++tube.using_count;
  watch(*conn, tube);
  CHECK(conns_.emplace(id, std::move(conn)).second);
  if (is_internal) return;
  ++counts_.open;
  ++counts_.total;
}

Conn& ConnTable::make_former() {
  auto conn = std::make_unique<Conn>();
  conn->id = former;
  conn->closing = true;
  conn->uses_tube = false;
  return *conns_.emplace(former, std::move(conn)).first->second;
}

void ConnTable::begin_close(Conn& conn, bool attempts_count) {
  if (conn.waiting) stop_waiting(conn);
  if (!conn.is_internal) --counts_.open;
  counts_.producers -= conn.producer ? 1 : 0;
  counts_.workers -= conn.worker ? 1 : 0;
  conn.closing = true;
  conn.attempts_count = attempts_count;
  schedule(conn);
}

void ConnTable::leave_next_tube(Conn& conn) {
  turn_.spend(cost::tube_left);
  conn.uses_tube = !conn.watched.empty();
  Tube& tube = tubes_.of(conn.uses_tube ? conn.watched.leave_next() : conn.used);
  --(conn.uses_tube ? tube.watching_count : tube.using_count);
  tubes_.end_if_unused(tube);
  if (conn.uses_tube) return;
  watched_bytes_ -= conn.watched.memory_bytes();
  conn.watched = WatchList();
}

void ConnTable::count_as_producer(Conn& conn) {
  if (conn.producer || conn.is_internal) return;
  conn.producer = true;
  ++counts_.producers;
}

void ConnTable::count_as_worker(Conn& conn) {
  if (conn.worker || conn.is_internal) return;
  conn.worker = true;
  ++counts_.workers;
}

// ---- Tubes.

void ConnTable::use(Conn& conn, Tube& tube) {
  Tube& old = tubes_.of(conn.used);
  ++tube.using_count;
  conn.used = tube.id;
  --old.using_count;
  tubes_.end_if_unused(old);
}

void ConnTable::watch(Conn& conn, Tube& tube) {
  edit_watched(conn, [&](WatchList& watched) { watched.add(conn, tube); });
  ++tube.watching_count;
}

void ConnTable::ignore(Conn& conn, Tube& tube) {
  edit_watched(conn, [&](WatchList& watched) { watched.remove(tube); });
  --tube.watching_count;
  tubes_.end_if_unused(tube);
}

void ConnTable::set_weight(Conn& conn, const Tube& tube, uint32_t weight) {
  edit_watched(conn, [&](WatchList& watched) { watched.weights().set(tube.id, weight); });
}

void ConnTable::begin_choice(Conn& conn, const std::vector<TubeId>& tubes) {
  edit_watched(conn, [&](WatchList& watched) { watched.weights().begin(tubes); });
}

void ConnTable::count_share(Conn& conn, TubeId tube) {
  if (conn.mode == ReserveMode::Fifo) return;
  edit_watched(conn, [&](WatchList& watched) { watched.weights().serve(tube); });
}

// ---- Waits.

void ConnTable::start_waiting(Conn& conn, const Wait& wait) {
  CHECK(!conn.waiting);
  conn.waiting = true;
  conn.wait_until.reset();
  if (wait.timeout) conn.wait_until = later(turn_.now(), *wait.timeout);
  conn.wait_with = wait.with;
  conn.wait_batch = wait.batch;
  turn_.spend(conn.watched.size() * cost::tube_waited_on);
  for (WatchLink& link : conn.watched.links()) tubes_.of(link.tube).waiting.push_back(link);
  ++counts_.waiting;
  schedule(conn);
}

void ConnTable::stop_waiting(Conn& conn) {
  conn.waiting = false;
  conn.wait_until.reset();
  turn_.spend(cost::wait_ended + conn.watched.size() * cost::tube_waited_on);
  for (WatchLink& link : conn.watched.links()) tubes_.of(link.tube).waiting.remove(link);
  --counts_.waiting;
  schedule(conn);
}

// ---- Deadlines.

bool ConnTable::deadline_soon(const Conn& conn) const {
  if (conn.reserved->empty()) return false;
  const JobHeap::Entry& first = conn.reserved->top();
  const Nanos margin = deadline_margin(fields_.ttr_of(*first.item));
  return turn_.now() >= static_cast<Nanos>(first.key) - margin;
}

// A second, as in beanstalkd. A ttr that is not of whole seconds may be shorter than that.
Nanos ConnTable::deadline_margin(Nanos ttr) {
  return ttr % nanos_per_second == 0 ? safety_margin : std::min(safety_margin, ttr / 2);
}

void ConnTable::schedule(Conn& conn) {
  std::optional<Nanos> at;
  if (!conn.closing) {
    if (!conn.reserved->empty()) {
      const JobHeap::Entry& first = conn.reserved->top();
      at = static_cast<Nanos>(first.key);
      if (conn.waiting) *at -= deadline_margin(fields_.ttr_of(*first.item));
    }
    if (conn.wait_until) at = at ? std::min(*at, *conn.wait_until) : *conn.wait_until;
  }
  const bool listed = conn.deadline_index != not_in_heap;
  if (!at) {
    if (listed) by_deadline_.remove(conn);
    return;
  }
  const auto key = static_cast<uint64_t>(std::max<Nanos>(*at, 0));
  if (listed) return by_deadline_.update(key, conn.id, conn);
  by_deadline_.push(key, conn.id, conn);
}

Conn* ConnTable::first_due() {
  const std::optional<Nanos> at = next_deadline();
  return at && *at <= turn_.now() ? by_deadline_.top().item : nullptr;
}

std::optional<Nanos> ConnTable::next_deadline() const {
  if (by_deadline_.empty()) return std::nullopt;
  return static_cast<Nanos>(by_deadline_.top().key);
}

}  // namespace perennial::engine
