// Which tubes a connection uses and watches, and what holds for a tube: its pause and its settings.

#include <string>
#include <utility>

#include "engine/commands/commands.h"
#include "engine/operations/operations.h"
#include "engine/rules/serving.h"
#include "engine/types/later.h"

namespace perennial::engine {

void run(State& state, Conn& conn, const Use& command) {
  Tube* const tube = state.tubes.find_or_make(command.tube);
  if (tube == nullptr) return state.turn.answer(conn.id, Word::OutOfMemory);
  state.conns.use(conn, *tube);
  state.turn.answer(conn.id, Using{command.tube});
}

void run(State& state, Conn& conn, const Watch& command) {
  Tube* tube = state.tubes.find(command.tube);
  if (tube == nullptr || !conn.watched.contains(*tube)) {
    const bool may_watch = conn.watched.size() < state.limits.watched_max;
    tube = may_watch ? state.tubes.find_or_make(command.tube) : nullptr;
    if (tube == nullptr) return state.turn.answer(conn.id, Word::OutOfMemory);
    state.conns.watch(conn, *tube);
  }
  if (command.weight) {
    state.conns.set_weight(conn, *tube, static_cast<uint32_t>(command.weight->value));
  }
  state.turn.answer(conn.id, NumberReply{Word::Watching, conn.watched.size()});
}

void run(State& state, Conn& conn, const Ignore& command) {
  Tube* const tube = state.tubes.find(command.tube);
  if (tube != nullptr && conn.watched.contains(*tube)) {
    if (conn.watched.size() == 1) return state.turn.answer(conn.id, Word::NotIgnored);
    state.conns.ignore(conn, *tube);
  }
  state.turn.answer(conn.id, NumberReply{Word::Watching, conn.watched.size()});
}

void run(State& state, Conn& conn, const SetReserveMode& set) {
  conn.mode = set.mode;
  const auto& row = reserve_mode_rows[static_cast<size_t>(set.mode)];
  state.turn.answer(conn.id, Using{std::string(row.name)});
}

void run(State& state, Conn& conn, const PauseTube& command) {
  Tube* const tube = state.tubes.find(command.tube);
  if (tube == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  ++tube->cmd_pause_tube;
  // As in beanstalkd, 0 is the shortest pause. It replaces a longer pause and ends at once, and its
  // end serves the connections that wait.
  const Nanos asked =
      static_cast<Nanos>(command.delay_s) * nanos_per_second + command.delay_rest_ns;
  state.tubes.pause(*tube, asked > 0 ? asked : 1, later(state.turn.now(), asked));
  state.turn.answer(conn.id, Word::Paused);
  if (asked == 0) end_pauses(state);
}

void run(State& state, Conn& conn, const SetTube& set) {
  const TubeSettings* const found = state.tubes.settings().find(set.tube);
  TubeSettings settings = found != nullptr ? *found : TubeSettings();
  change_settings(settings, set);
  if (!state.tubes.set(set.tube, settings)) {
    return state.turn.answer(conn.id, Word::OutOfMemory);
  }
  state.turn.emit(SettingsStored{set.tube, std::move(settings)});
  state.turn.answer(conn.id, Word::Set);
  if (Tube* const tube = state.tubes.find(set.tube)) hand_out(state, *tube);
}

}  // namespace perennial::engine
