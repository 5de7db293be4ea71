#include "cmd/perenniald/core/access.h"

#include <algorithm>
#include <string>
#include <variant>

#include <fmt/format.h>

namespace perennial::core {
namespace {

constexpr VerbSet of_tubes = {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage};
// Either lets jobs come into a tube.
constexpr VerbSet adds = {Verb::Produce, Verb::Manage};

Verdict worse(Verdict one, Verdict other) {
  return one == Verdict::Allowed ? other : one;
}

struct Judge {
  const User& user;
  const ConnId conn;
  const engine::Engine& engine;

  // ---- By the name of a tube. Whether the tube exists makes no difference.
  Verdict on(std::string_view tube, VerbSet verbs) const {
    return user.verbs_on(tube).holds_any(verbs) ? Verdict::Allowed : Verdict::Forbidden;
  }
  Verdict on_used(VerbSet verbs) const { return on(engine.used_tube(conn), verbs); }
  // An option that names a tube, or is empty.
  Verdict into(std::string_view tube) const {
    return tube.empty() ? Verdict::Allowed : on(tube, adds);
  }
  Verdict for_all(Verb verb) const {
    return user.may(verb) ? Verdict::Allowed : Verdict::Forbidden;
  }

  // ---- By the id of a job.
  Verdict on_job(JobId id, Verb verb) const {
    const std::string* const tube = engine.tube_of_job(id);
    if (tube == nullptr) return Verdict::Allowed;  // The engine answers NOT_FOUND.
    const VerbSet verbs = user.verbs_on(*tube);
    if (!verbs.holds_any(of_tubes)) return Verdict::Hidden;
    return verbs.holds(verb) ? Verdict::Allowed : Verdict::Forbidden;
  }
  // A job that the connection holds is its own to finish. Anything else with that id is not there:
  // a worker whose reservation has ended expects NOT_FOUND.
  Verdict on_own_job(JobId id) const {
    if (!engine.holds(conn, id)) return Verdict::Hidden;
    return on_job(id, Verb::Consume) == Verdict::Allowed ? Verdict::Allowed : Verdict::Hidden;
  }
  Verdict delete_job(JobId id) const {
    if (engine.holds(conn, id)) return on_own_job(id);
    return on_job(id, Verb::Manage) == Verdict::Allowed ? Verdict::Allowed : Verdict::Hidden;
  }

  // ---- The rules, one for each command.
  // `tube`: where the put goes if it names no tube.
  Verdict put_into(std::string_view tube, const Put& put) const {
    if (!put.options) return on(tube, {Verb::Produce});
    const std::string& named = put.options->tube;
    return worse(on(named.empty() ? tube : named, {Verb::Produce}), into(put.options->dead));
  }
  Verdict operator()(const Put& put) const { return put_into(engine.used_tube(conn), put); }
  Verdict operator()(const PutBatch& batch) const {
    const std::string& tube = batch.tube.empty() ? engine.used_tube(conn) : batch.tube;
    Verdict verdict = Verdict::Allowed;
    for (const Put& put : batch.items) verdict = worse(verdict, put_into(tube, put));
    return verdict;
  }
  // A tube is used to put, to look at its jobs, and to kick them.
  Verdict operator()(const Use& use) const {
    return on(use.tube, {Verb::Produce, Verb::Inspect, Verb::Manage});
  }
  Verdict operator()(const Watch& watch) const { return on(watch.tube, {Verb::Consume}); }
  Verdict operator()(const Ignore& /*ignore*/) const { return Verdict::Allowed; }
  Verdict operator()(const SetReserveMode& /*set*/) const { return Verdict::Allowed; }
  Verdict reserve() const {
    return engine.watches(conn, "default") ? on("default", {Verb::Consume}) : Verdict::Allowed;
  }
  Verdict operator()(const Reserve& /*reserve*/) const { return reserve(); }
  Verdict operator()(const ReserveWithTimeout& /*reserve*/) const { return reserve(); }
  Verdict operator()(const ReserveBatch& /*reserve*/) const { return reserve(); }
  Verdict operator()(const ReserveJob& command) const { return on_job(command.id, Verb::Consume); }
  Verdict operator()(const Delete& command) const { return delete_job(command.id); }
  Verdict operator()(const Release& release) const { return on_own_job(release.id); }
  Verdict operator()(const Bury& bury) const { return on_own_job(bury.id); }
  Verdict operator()(const Touch& touch) const { return on_own_job(touch.id); }
  Verdict operator()(DeleteBatch& batch) const {
    for (const JobId id : batch.ids) {
      if (delete_job(id) != Verdict::Allowed) batch.hidden.push_back(id);
    }
    return Verdict::Allowed;
  }
  // Only jobs that the connection holds are touched. The engine sees to that.
  Verdict operator()(const TouchBatch& /*batch*/) const { return Verdict::Allowed; }
  Verdict operator()(const Peek& peek) const { return on_job(peek.id, Verb::Inspect); }
  Verdict operator()(const PeekReady& /*peek*/) const { return on_used({Verb::Inspect}); }
  Verdict operator()(const PeekDelayed& /*peek*/) const { return on_used({Verb::Inspect}); }
  Verdict operator()(const PeekBuried& /*peek*/) const { return on_used({Verb::Inspect}); }
  Verdict operator()(const PeekReserved& /*peek*/) const { return on_used({Verb::Inspect}); }
  Verdict operator()(const Kick& /*kick*/) const { return on_used({Verb::Manage}); }
  Verdict operator()(const KickJob& kick) const { return on_job(kick.id, Verb::Manage); }
  Verdict operator()(const StatsJob& stats) const { return on_job(stats.id, Verb::Inspect); }
  Verdict operator()(const StatsTube& stats) const { return on(stats.tube, {Verb::Inspect}); }
  Verdict operator()(const Stats& /*stats*/) const { return for_all(Verb::Monitor); }
  // Core leaves out the tubes on which the user has no grant.
  Verdict operator()(const ListTubes& /*list*/) const { return Verdict::Allowed; }
  Verdict operator()(const ListTubeUsed& /*list*/) const { return Verdict::Allowed; }
  Verdict operator()(const ListTubesWatched& /*list*/) const { return Verdict::Allowed; }
  Verdict operator()(const ListJobs& list) const {
    if (!list.tube.empty()) return on(list.tube, {Verb::Inspect});
    return user.may_everywhere(Verb::Inspect) ? Verdict::Allowed : Verdict::Forbidden;
  }
  Verdict operator()(const PauseTube& pause) const { return on(pause.tube, {Verb::Manage}); }
  Verdict operator()(const FlushTube& flush) const { return on(flush.tube, {Verb::Manage}); }
  Verdict operator()(const MoveTube& move) const {
    return worse(on(move.from, {Verb::Manage}), into(move.to));
  }
  Verdict operator()(const SetJob& set) const {
    const Verdict dead = set.dead.value ? into(*set.dead.value) : Verdict::Allowed;
    return worse(on_job(set.id, Verb::Manage), worse(into(set.tube), dead));
  }
  Verdict operator()(const SetTube& set) const {
    const Verdict dead = set.dead.value ? into(*set.dead.value) : Verdict::Allowed;
    return worse(on(set.tube, {Verb::Manage}), dead);
  }
  Verdict operator()(const Drain& /*drain*/) const { return for_all(Verb::Admin); }
  Verdict operator()(const Undrain& /*undrain*/) const { return for_all(Verb::Admin); }
  Verdict operator()(const Checkpoint& /*checkpoint*/) const { return for_all(Verb::Admin); }
  Verdict operator()(const Extensions& /*extensions*/) const { return Verdict::Allowed; }
  Verdict operator()(const Auth& /*auth*/) const { return Verdict::Allowed; }
  Verdict operator()(const Quit& /*quit*/) const { return Verdict::Allowed; }
  // What was refused already does nothing.
  Verdict operator()(const PutTooBig& /*put*/) const { return Verdict::Allowed; }
  Verdict operator()(const PutTrailingJunk& /*put*/) const { return Verdict::Allowed; }
  Verdict operator()(const PutNoCrlf& /*put*/) const { return Verdict::Allowed; }
  Verdict operator()(const PutBatchRefused& /*batch*/) const { return Verdict::Allowed; }
  Verdict operator()(const Malformed& /*line*/) const { return Verdict::Allowed; }
};

}  // namespace

Verdict judge(const User& user, ConnId conn, Command& command, const engine::Engine& engine) {
  return std::visit(Judge{user, conn, engine}, command);
}

bool is_of_operator(const Command& command) {
  return std::visit(
      []<typename C>(const C& /*command*/) {
        return std::is_same_v<C, Kick> || std::is_same_v<C, KickJob> ||
               std::is_same_v<C, PauseTube> || std::is_same_v<C, FlushTube> ||
               std::is_same_v<C, MoveTube> || std::is_same_v<C, SetJob> ||
               std::is_same_v<C, SetTube> || std::is_same_v<C, Drain> ||
               std::is_same_v<C, Undrain> || std::is_same_v<C, Checkpoint>;
      },
      command);
}

std::string_view word_of(const Command& command) {
  return std::visit(
      []<typename C>(const C& /*command*/) -> std::string_view {
        if constexpr (is_refused<C>) {
          return {};
        } else {
          return command_row<C>().word();
        }
      },
      command);
}

std::string subject_of(const Command& command) {
  return std::visit(
      []<typename C>(const C& any) -> std::string {
        if constexpr (std::is_same_v<C, Put>) {
          return any.options ? any.options->tube : std::string();
        } else if constexpr (requires { any.tube.size(); }) {
          return any.tube;
        } else if constexpr (requires { any.from.size(); }) {
          return any.from;
        } else if constexpr (requires { JobId{any.id}; }) {
          return fmt::format("job {}", any.id);
        } else {
          return {};
        }
      },
      command);
}

}  // namespace perennial::core
