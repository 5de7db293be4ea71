// The commands that only read: peeks, statistics, listings. And lines that are no command.

#include <memory>
#include <optional>
#include <utility>

#include "engine/commands/commands.h"
#include "engine/operations/operations.h"
#include "engine/statistics/stats.h"
#include "engine/view/engine_view.h"

namespace perennial::engine {
namespace {

const Job* top_of(const auto& jobs) {
  return jobs.empty() ? nullptr : jobs.top().item;
}

void answer_found(State& state, Conn& conn, const Job* job, const JobFacts& with) {
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  state.turn.answer(conn.id, job_reply(state, Word::Found, *job, with));
}

}  // namespace

void run(State& state, Conn& conn, const Peek& peek) {
  answer_found(state, conn, state.jobs.find(peek.id), peek.with);
}

void run(State& state, Conn& conn, const PeekReady& peek) {
  const Tube& tube = state.tubes.of(conn.used);
  const Job* job = top_of(*tube.ready);
  if (job == nullptr && tube.groups) job = tube.groups->first_behind();
  answer_found(state, conn, job, peek.with);
}

void run(State& state, Conn& conn, const PeekDelayed& peek) {
  answer_found(state, conn, top_of(*state.tubes.of(conn.used).delayed), peek.with);
}

void run(State& state, Conn& conn, const PeekBuried& peek) {
  answer_found(state, conn, top_of(*state.tubes.of(conn.used).buried), peek.with);
}

void run(State& state, Conn& conn, const PeekReserved& peek) {
  const auto& reserved = *state.tubes.of(conn.used).reserved;
  const Job* const job = reserved.empty() ? nullptr : state.jobs.find(reserved.begin()->first);
  answer_found(state, conn, job, peek.with);
}

void run(State& state, Conn& conn, const Stats& /*stats*/) {
  state.turn.answer(conn.id, std::make_unique<EngineStats>(EngineView(state).statistics()));
}

void run(State& state, Conn& conn, const StatsJob& command) {
  const Job* const job = state.jobs.find(command.id);
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  state.turn.answer(conn.id, std::make_unique<JobStats>(stats_of(state, *job)));
}

void run(State& state, Conn& conn, const StatsTube& command) {
  const Tube* const tube = state.tubes.find(command.tube);
  auto stats = std::make_unique<TubeStats>();
  if (tube != nullptr) {
    *stats = stats_of(state, *tube);
  } else {
    // A tube that has only settings.
    const SettingsTable& settings = state.tubes.settings();
    if (settings.find(command.tube) == nullptr) {
      return state.turn.answer(conn.id, Word::NotFound);
    }
    stats->name = command.tube;
    stats->more = TubeStats::More{.settings = settings.in_force(command.tube)};
  }
  state.turn.answer(conn.id, std::move(stats));
}

// The cost of a command is bounded by list_scan_max, so it needs no further turn.
void run(State& state, Conn& conn, const ListJobs& list) {
  auto found = std::make_unique<JobList>();
  const std::optional<uint32_t> looked_at =
      EngineView(state).list_jobs(list, list_scan_max, *found);
  if (!looked_at) return state.turn.answer(conn.id, Word::NotFound);
  state.turn.spend(*looked_at * cost::job_looked_at + found->jobs.size() * cost::job_listed);
  state.turn.answer(conn.id, std::move(found));
}

void run(State& state, Conn& conn, const ListNotes& list) {
  const Job* const job = state.jobs.find(list.id);
  if (job == nullptr) return state.turn.answer(conn.id, Word::NotFound);
  const JobFields* const fields = state.fields.of(*job);
  state.turn.answer(conn.id, NotesOf{job->id, fields != nullptr ? fields->notes : 0});
}

void run(State& state, Conn& conn, const ListTubes& /*list*/) {
  const auto& tubes = state.tubes.list();
  if (tubes.size() > state.limits.names_per_part_max) return list_in_parts(state, conn.id, 0);
  state.turn.spend(tubes.size() * cost::name_listed);
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(tubes.size());
  for (const Tube* tube : tubes) names->names.push_back(tube->name);
  state.turn.answer(conn.id, std::move(names));
}

void run(State& state, Conn& conn, const ListTubeUsed& /*list*/) {
  state.turn.answer(conn.id, Using{state.tubes.of(conn.used).name});
}

void run(State& state, Conn& conn, const ListTubesWatched& /*list*/) {
  const size_t count = conn.watched.size();
  if (count > state.limits.names_per_part_max) return list_in_parts(state, conn.id, conn.id);
  state.turn.spend(count * cost::name_listed);
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(count);
  for (const WatchLink& link : conn.watched.links()) {
    names->names.push_back(state.tubes.of(link.tube).name);
  }
  state.turn.answer(conn.id, std::move(names));
}

void run(State& state, Conn& conn, const Malformed& malformed) {
  if (malformed.kind == Malformed::Kind::BadPauseTube) {
    ++state.counters.commands.of<PauseTube>();
  }
  const bool unknown = malformed.kind == Malformed::Kind::UnknownCommand;
  state.turn.answer(conn.id, unknown ? Word::UnknownCommand : Word::BadFormat);
}

}  // namespace perennial::engine
