#include "engine/engine.h"

#include <utility>

namespace perennial::engine {

// Which function decides an event or a command, and which counter it is counted in: that of its
// row, or of the row of what it would have been. Nothing is counted that is BAD_FORMAT, but for
// put: beanstalkd's protocol.txt does not say, its code does.
struct Engine::Visitor {
  Engine& engine;
  ConnId id;

  Conn& conn() const { return engine.conn_of(id); }

  void operator()(const Opened&) const { engine.on_opened(id); }
  void operator()(const Closed&) const { engine.on_closed(conn()); }
  void operator()(const HalfClosed&) const { engine.on_half_closed(conn()); }
  void operator()(const Tick& tick) const { engine.on_tick(tick); }
  void operator()(const Drain&) const { engine.draining_ = true; }
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
    if constexpr (!command_row<C>().stats_key.empty()) ++engine.commands_.of<C>();
  }
};

void Engine::run(Conn& conn, const Malformed& malformed) {
  if (malformed.kind == Malformed::Kind::BadPauseTube) ++commands_.of<PauseTube>();
  const bool unknown = malformed.kind == Malformed::Kind::UnknownCommand;
  answer(conn, unknown ? Word::UnknownCommand : Word::BadFormat);
}

Engine::Engine(const Limits& limits) : limits_(limits) {
  CHECK(limits.moves_per_turn_max > 0);
  CHECK(limits.id_block > 0);
  CHECK(limits.cost_per_turn_max > 0);
  CHECK(limits.names_per_part_max > 0);
  tubes_.emplace_back();
  make_tube(0, "default");
}

Engine::~Engine() = default;

void Engine::apply(const Input& input, Output& out) {
  CHECK(input.now >= now_);
  if (input.now > now_ || std::holds_alternative<Tick>(input.event)) moves_ = cost_ = 0;
  const uint32_t moves_before = moves_;
  const uint64_t cost_before = cost_;
  now_ = input.now;
  room_ = input.room;
  out_ = &out;
  std::visit(Visitor{*this, input.conn}, input.event);
  out_ = nullptr;
  out.cost += cost_ - cost_before + (moves_ - moves_before) * cost::job_moved;
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
  if (go_on) consider(tubes_by_delay_);
  consider(tubes_by_pause_);
  consider(conns_by_deadline_);
  return soonest;
}

size_t Engine::memory_bytes() const {
  constexpr size_t heap_entry_bytes = sizeof(JobHeap::Entry);
  constexpr size_t tube_bytes = sizeof(Tube) + 512;
  constexpr size_t conn_bytes = sizeof(Conn) + 512;
  return pool_.bytes() + jobs_.memory_bytes() + jobs_.size() * heap_entry_bytes +
         (tube_list_.size() + ended_tubes_.size()) * tube_bytes + conns_.size() * conn_bytes +
         watched_bytes_;
}

void Engine::answer(const Conn& conn, Reply reply) {
  out_->replies.push_back({conn.id, std::move(reply)});
}

}  // namespace perennial::engine
