#include "engine/engine.h"

#include <type_traits>
#include <variant>

#include "engine/commands/commands.h"
#include "engine/operations/operations.h"
#include "engine/rules/ended.h"
#include "engine/rules/jobs.h"
#include "engine/rules/serving.h"
#include "engine/statistics/image_of.h"
#include "engine/tables/state.h"

namespace perennial::engine {
namespace {

// In this order. README.md says why it is this one.
void tick(State& state, bool go_on) {
  if (go_on) {
    end_expired(state);
    end_cooldowns(state);
    end_delays(state);
    fire_schedules(state);
  }
  end_pauses(state);
  refill_rates(state);
  end_conn_deadlines(state);
  leave_tubes(state);
  if (go_on) go_on_left_over(state);
  give_listings(state);
}

// Whoever looks at a job that is buried already is told the same again, and nothing is counted.
void bury_damaged(State& state, JobId id) {
  Job* const job = state.jobs.find(id);
  if (job == nullptr || job->state == JobState::Buried) return;
  ++state.counters.jobs_damaged;
  end_run(state, *job, RunEnd::Buried);
  bury(state, *job, false);
}

// Finds what an event or a command does, and the counter of a command: that of its row, or of the
// row of the command that a refused one would have been. A command that is answered with BAD_FORMAT
// is not counted, except put. beanstalkd's protocol.txt does not say so, but its code does it.
struct Apply {
  State& state;
  ConnId id;
  Output& out;

  Conn& conn() const { return state.conns.of(id); }

  void operator()(const Opened& opened) const { state.conns.open(id, opened.is_internal); }
  void operator()(const Closed& closed) const { close(state, conn(), !closed.after_quit); }
  void operator()(const HalfClosed&) const {
    conn().half_closed = true;
    (*this)(WaitAborted());
  }
  // A job may have ended the wait just before.
  void operator()(const WaitAborted&) const {
    Conn& waiter = conn();
    if (waiter.waiting) end_wait(state, waiter);
  }
  void operator()(const Tick& event) const { tick(state, event.go_on); }
  void operator()(const DrainSignal&) const { state.is_draining = true; }
  void operator()(const Damaged& damaged) const { bury_damaged(state, damaged.id); }
  void operator()(const Restore& event) const { out.restored = restore(state, event); }
  void operator()(const EndedOver& over) const { end_kept(state, over); }
  void operator()(const EndedAsked& asked) const {
    std::visit([this]<typename C>(const C& /*command*/) { count<C>(); }, asked.command);
  }
  void operator()(const Command& command) const { std::visit(*this, command); }

  template <typename C>
  void operator()(const C& command) const {
    if constexpr (is_refused<C>) {
      if constexpr (requires { typename C::CountsAs; }) count<typename C::CountsAs>();
      run(state, conn(), command);
    } else if constexpr (command_row<C>().flags.in_core) {
      CHECK(!"this command is core's");
    } else {
      count<C>();
      run(state, conn(), command);
    }
  }

  template <typename C>
  void count() const {
    if constexpr (!command_row<C>().stats_key.empty()) {
      constexpr bool changes_nothing =
          std::is_same_v<C, Peek> || std::is_same_v<C, Use> || std::is_same_v<C, ListNotes>;
      if (!changes_nothing || !conn().is_internal) ++state.counters.commands.of<C>();
    }
  }
};

}  // namespace

Engine::Engine(const Limits& limits) : state_(std::make_unique<State>(limits)) {}

Engine::~Engine() = default;

void Engine::apply(const Input& input, Output& out) {
  State& state = *state_;
  if (std::holds_alternative<Tick>(input.event)) state.turn.restart();
  state.turn.begin(input, out);
  std::visit(Apply{state, input.conn, out}, input.event);
  serve_freed_slots(state);
  state.turn.end();
}

std::optional<Nanos> Engine::next_deadline(bool go_on) const {
  return state_->next_deadline(go_on);
}

EngineView Engine::view() const {
  return EngineView(*state_);
}

Image Engine::image() const {
  return image_of(*state_);
}

}  // namespace perennial::engine
