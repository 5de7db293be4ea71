#include "engine/engine.h"

#include <utility>

namespace perennial::engine {

// Finds the function of an event or a command, and the counter of a command: that of its row, or of
// the row of the command that a refused one would have been. A command that is answered with
// BAD_FORMAT is not counted, except put. beanstalkd's protocol.txt does not say so, but its code
// does it.
struct Engine::Visitor {
  Engine& engine;
  ConnId id;

  Conn& conn() const { return engine.conn_of(id); }

  void operator()(const Opened& opened) const { engine.on_opened(id, opened); }
  void operator()(const Closed& closed) const { engine.on_closed(conn(), closed); }
  void operator()(const HalfClosed&) const { engine.on_half_closed(conn()); }
  void operator()(const WaitAborted&) const { engine.on_wait_aborted(conn()); }
  void operator()(const Tick& tick) const { engine.on_tick(tick); }
  void operator()(const DrainSignal&) const { engine.draining_ = true; }
  void operator()(const Damaged& damaged) const { engine.on_damaged(damaged.id); }
  void operator()(const Command& command) const { std::visit(*this, command); }

  template <typename C>
  void operator()(const C& command) const {
    if constexpr (is_refused<C>) {
      if constexpr (requires { typename C::CountsAs; }) count<typename C::CountsAs>();
      engine.run(conn(), command);
    } else if constexpr (command_row<C>().flags.in_core) {
      CHECK(!"this command is core's");
    } else {
      count<C>();
      engine.run(conn(), command);
    }
  }

  template <typename C>
  void count() const {
    if constexpr (!command_row<C>().stats_key.empty()) {
      constexpr bool changes_nothing = std::is_same_v<C, Peek> || std::is_same_v<C, Use>;
      if (!changes_nothing || !conn().is_internal) ++engine.commands_.of<C>();
    }
  }
};

void Engine::run(Conn& conn, const Malformed& malformed) {
  if (malformed.kind == Malformed::Kind::BadPauseTube) ++commands_.of<PauseTube>();
  const bool unknown = malformed.kind == Malformed::Kind::UnknownCommand;
  answer(conn, unknown ? Word::UnknownCommand : Word::BadFormat);
}

Engine::Engine(const Limits& limits)
    : limits_(limits),
      buckets_(limits.tubes_max),
      measured_tubes_(limits.measured_as, limits.measured_max) {
  CHECK(limits.transitions_per_turn_max > 0);
  CHECK(limits.id_block > 0);
  CHECK(limits.cost_per_turn_max > 0);
  CHECK(limits.names_per_part_max > 0);
  tubes_.emplace_back();
  make_tube(0, "default");
}

Engine::~Engine() {
  for (auto entry = fields_.first_from(0); entry.value != nullptr;
       entry = fields_.first_from(entry.id + 1)) {
    delete *entry.value;
  }
}

void Engine::apply(const Input& input, Output& out) {
  CHECK(input.now >= now_);
  if (input.now > now_ || std::holds_alternative<Tick>(input.event)) transitions_ = cost_ = 0;
  const uint32_t transitions_before = transitions_;
  const uint64_t cost_before = cost_;
  now_ = input.now;
  accepts_puts_ = input.accepts_puts;
  out_ = &out;
  std::visit(Visitor{*this, input.conn}, input.event);
  serve_freed_slots();
  out_ = nullptr;
  out.cost += cost_ - cost_before + (transitions_ - transitions_before) * cost::job_moved;
}

std::optional<Nanos> Engine::next_deadline(bool go_on) const {
  if (go_on && !left_over_.empty()) return now_;
  if (!leaving_.empty() || !listings_.empty() || !ended_tubes_.empty()) return now_;
  std::optional<Nanos> soonest;
  const auto consider = [&soonest](const auto& heap) {
    if (heap.empty()) return;
    const auto at = static_cast<Nanos>(heap.top().key);
    if (!soonest || at < *soonest) soonest = at;
  };
  const auto consider_time = [&soonest](std::optional<Nanos> at) {
    if (at && (!soonest || *at < *soonest)) soonest = at;
  };
  if (go_on) {
    consider(tubes_by_delay_);
    if (!expiries_.empty()) consider_time(expiries_.begin()->first);
    consider_time(keys_.soonest());
  }
  consider(tubes_by_pause_);
  consider(tubes_by_rate_);
  consider(conns_by_deadline_);
  return soonest;
}

const std::string& Engine::used_tube(ConnId conn) const {
  return tube_of(conn_of(conn).used).name;
}

bool Engine::watches(ConnId conn, std::string_view tube) const {
  const Tube* const found = tubes_by_name_.find(tube);
  return found != nullptr && conn_of(conn).watched.contains(*found);
}

std::vector<const std::string*> Engine::watched_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  for (const WatchLink& link : conn_of(conn).watched.links()) {
    names.push_back(&tube_of(link.tube).name);
  }
  return names;
}

bool Engine::holds(ConnId conn, JobId id) const {
  const Job* const* const job = jobs_.find(id);
  return job != nullptr && (*job)->state == JobState::Reserved && (*job)->place.holder == conn;
}

std::vector<const std::string*> Engine::held_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  conn_of(conn).reserved.for_each(
      [&](const Job& job) { names.push_back(&tube_of(job.tube).name); });
  return names;
}

bool Engine::is_waiting(ConnId conn) const {
  return conn_of(conn).waiting;
}

const std::string* Engine::tube_of_job(JobId id) const {
  const Job* const* const job = jobs_.find(id);
  return job != nullptr ? &tube_of((*job)->tube).name : nullptr;
}

size_t Engine::memory_bytes() const {
  constexpr size_t heap_entry_bytes = sizeof(JobHeap::Entry);
  constexpr size_t tube_bytes = sizeof(Tube) + 512;
  constexpr size_t conn_bytes = sizeof(Conn) + 512;
  constexpr size_t fields_extra_bytes = 64;  // Of strings, and of the order of expiries.
  constexpr size_t settings_bytes = sizeof(TubeSettings) + 128;
  constexpr size_t reserved_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));  // In the map of its tube.
  constexpr size_t apart_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));     // In a ReadyOrder.
  return pool_.bytes() + jobs_.memory_bytes() + jobs_.size() * heap_entry_bytes +
         (tube_list_.size() + ended_tubes_.size()) * tube_bytes + conns_.size() * conn_bytes +
         counts_.reserved * reserved_bytes + ready_apart_ * apart_bytes + watched_bytes_ +
         fields_.memory_bytes() + fields_.size() * (sizeof(JobFields) + fields_extra_bytes) +
         keys_.memory_bytes() + settings_.size() * settings_bytes + buckets_.memory_bytes();
}

void Engine::answer(const Conn& conn, Reply reply) {
  out_->replies.push_back({conn.id, std::move(reply)});
}

}  // namespace perennial::engine
