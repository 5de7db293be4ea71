#include "engine/state.h"

#include <utility>

namespace perennial::engine {

// Finds the function of an event or a command, and the counter of a command: that of its row, or of
// the row of the command that a refused one would have been. A command that is answered with
// BAD_FORMAT is not counted, except put. beanstalkd's protocol.txt does not say so, but its code
// does it.
struct State::Visitor {
  State& state;
  ConnId id;

  Conn& conn() const { return state.conn_of(id); }

  void operator()(const Opened& opened) const { state.on_opened(id, opened); }
  void operator()(const Closed& closed) const { state.on_closed(conn(), closed); }
  void operator()(const HalfClosed&) const { state.on_half_closed(conn()); }
  void operator()(const WaitAborted&) const { state.on_wait_aborted(conn()); }
  void operator()(const Tick& tick) const { state.on_tick(tick); }
  void operator()(const DrainSignal&) const { state.draining_ = true; }
  void operator()(const Damaged& damaged) const { state.on_damaged(damaged.id); }
  void operator()(const Command& command) const { std::visit(*this, command); }

  template <typename C>
  void operator()(const C& command) const {
    if constexpr (is_refused<C>) {
      if constexpr (requires { typename C::CountsAs; }) count<typename C::CountsAs>();
      state.run(conn(), command);
    } else if constexpr (command_row<C>().flags.in_core) {
      CHECK(!"this command is core's");
    } else {
      count<C>();
      state.run(conn(), command);
    }
  }

  template <typename C>
  void count() const {
    if constexpr (!command_row<C>().stats_key.empty()) {
      constexpr bool changes_nothing = std::is_same_v<C, Peek> || std::is_same_v<C, Use>;
      if (!changes_nothing || !conn().is_internal) ++state.commands_.of<C>();
    }
  }
};

void State::run(Conn& conn, const Malformed& malformed) {
  if (malformed.kind == Malformed::Kind::BadPauseTube) ++commands_.of<PauseTube>();
  const bool unknown = malformed.kind == Malformed::Kind::UnknownCommand;
  answer(conn, unknown ? Word::UnknownCommand : Word::BadFormat);
}

State::State(const Limits& limits)
    : limits_(limits),
      turn_(limits_),
      buckets_(limits.tubes_max),
      measured_tubes_(limits.measured_as, limits.measured_max) {
  CHECK(limits.transitions_per_turn_max > 0);
  CHECK(limits.id_block > 0);
  CHECK(limits.cost_per_turn_max > 0);
  CHECK(limits.names_per_part_max > 0);
  tubes_.emplace_back();
  make_tube(0, "default");
}

State::~State() {
  for (auto entry = fields_.first_from(0); entry.value != nullptr;
       entry = fields_.first_from(entry.id + 1)) {
    delete *entry.value;
  }
}

void State::apply(const Input& input, Output& out) {
  if (std::holds_alternative<Tick>(input.event)) turn_.restart();
  turn_.begin(input.now, input.accepts_puts, out);
  std::visit(Visitor{*this, input.conn}, input.event);
  serve_freed_slots();
  turn_.end();
}

std::optional<Nanos> State::next_deadline(bool go_on) const {
  if (go_on && !left_over_.empty()) return turn_.now();
  if (!leaving_.empty() || !listings_.empty() || !ended_tubes_.empty()) return turn_.now();
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

void State::answer(const Conn& conn, Reply reply) {
  turn_.answer(conn.id, std::move(reply));
}

}  // namespace perennial::engine
