#include "cmd/perenniald/core/access.h"

#include <algorithm>
#include <string>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::core {
namespace {

constexpr VerbSet of_tubes = {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage};
// Either lets jobs come into a tube.
constexpr VerbSet adds = {Verb::Produce, Verb::Manage};

bool is_allowed(const Judgement& judgement) {
  return judgement.verdict == Verdict::Allowed;
}

Judgement worse(Judgement one, Judgement other) {
  return is_allowed(one) ? other : one;
}

struct Judge {
  const User& user;
  const ConnId conn;
  const engine::EngineView engine;

  // ---- By the name of a tube. Whether the tube exists makes no difference.
  Judgement on(std::string_view tube, VerbSet verbs) const {
    if (user.verbs_on(tube).holds_any(verbs)) return {};
    return {Verdict::Forbidden, verbs.first()};
  }
  Judgement on_used(VerbSet verbs) const { return on(engine.used_tube(conn), verbs); }
  // An option that names a tube, or is empty.
  Judgement into(std::string_view tube) const {
    return tube.empty() ? Judgement() : on(tube, adds);
  }
  Judgement for_all(Verb verb) const {
    return user.may(verb) ? Judgement() : Judgement{Verdict::Forbidden, verb};
  }

  // ---- By the id of a job. FORBIDDEN for whoever may do this with no job at all, whether the job
  // exists or not; and to the holder, who has been told of the job.
  Judgement on_job(JobId id, Verb verb) const {
    if (!user.may(verb)) return {Verdict::Forbidden, verb};
    const Judgement judgement = on_job_or_hidden(id, verb);
    const bool is_known = !is_allowed(judgement) && engine.holds(conn, id);
    return is_known ? Judgement{Verdict::Forbidden, verb} : judgement;
  }
  // The same, but without the word that says that the job is there.
  Judgement on_job_or_hidden(JobId id, Verb verb) const {
    const std::string* const tube = engine.tube_of_job(id);
    if (tube == nullptr) return {};  // The engine answers NOT_FOUND.
    return user.verbs_on(*tube).holds(verb) ? Judgement() : Judgement{Verdict::Hidden, verb};
  }
  // A job that the connection holds is its own to finish. Of a job that it does not hold the engine
  // says NOT_FOUND, as a worker whose reservation has ended expects.
  Judgement on_own_job(JobId id) const { return on_job_or_hidden(id, Verb::Consume); }
  Judgement delete_job(JobId id) const {
    return on_job_or_hidden(id, engine.holds(conn, id) ? Verb::Consume : Verb::Manage);
  }

  // ---- The rules, one for each command.
  // `tube`: where the put goes if it names no tube.
  Judgement put_into(std::string_view tube, const Put& put) const {
    if (!put.options) return on(tube, {Verb::Produce});
    const std::string& named = put.options->tube;
    return worse(on(named.empty() ? tube : named, {Verb::Produce}), into(put.options->dead));
  }
  Judgement operator()(const Put& put) const { return put_into(engine.used_tube(conn), put); }
  Judgement operator()(const PutBatch& batch) const {
    const std::string& tube = batch.tube.empty() ? engine.used_tube(conn) : batch.tube;
    Judgement verdict;
    for (const Put& put : batch.items) verdict = worse(verdict, put_into(tube, put));
    return verdict;
  }
  // A tube is used to put, to look at its jobs, and to kick them.
  Judgement operator()(const Use& use) const {
    return on(use.tube, {Verb::Produce, Verb::Inspect, Verb::Manage});
  }
  Judgement operator()(const Watch& watch) const { return on(watch.tube, {Verb::Consume}); }
  Judgement operator()(const Ignore& /*ignore*/) const { return {}; }
  Judgement operator()(const SetReserveMode& /*set*/) const { return {}; }
  Judgement reserve() const {
    return engine.watches(conn, "default") ? on("default", {Verb::Consume}) : Judgement();
  }
  Judgement operator()(const Reserve& /*reserve*/) const { return reserve(); }
  Judgement operator()(const ReserveWithTimeout& /*reserve*/) const { return reserve(); }
  Judgement operator()(const ReserveBatch& /*reserve*/) const { return reserve(); }
  Judgement operator()(const ReserveJob& command) const {
    return on_job(command.id, Verb::Consume);
  }
  Judgement operator()(const Delete& command) const { return delete_job(command.id); }
  Judgement operator()(const Release& release) const { return on_own_job(release.id); }
  Judgement operator()(const Bury& bury) const { return on_own_job(bury.id); }
  Judgement operator()(const Touch& touch) const { return on_own_job(touch.id); }
  Judgement operator()(DeleteBatch& batch) const {
    for (const JobId id : batch.ids) {
      if (!is_allowed(delete_job(id))) batch.hidden.push_back(id);
    }
    return {};
  }
  // Only jobs that the connection holds are touched. The engine sees to that.
  Judgement operator()(const TouchBatch& /*batch*/) const { return {}; }
  Judgement operator()(const Peek& peek) const { return on_job(peek.id, Verb::Inspect); }
  Judgement operator()(const PeekReady& /*peek*/) const { return on_used({Verb::Inspect}); }
  Judgement operator()(const PeekDelayed& /*peek*/) const { return on_used({Verb::Inspect}); }
  Judgement operator()(const PeekBuried& /*peek*/) const { return on_used({Verb::Inspect}); }
  Judgement operator()(const PeekReserved& /*peek*/) const { return on_used({Verb::Inspect}); }
  Judgement operator()(const Kick& /*kick*/) const { return on_used({Verb::Manage}); }
  Judgement operator()(const KickJob& kick) const { return on_job(kick.id, Verb::Manage); }
  Judgement operator()(const StatsJob& stats) const { return on_job(stats.id, Verb::Inspect); }
  Judgement operator()(const StatsTube& stats) const {
    if (may_count(user, stats.tube)) return {};
    return {Verdict::Forbidden, Verb::Inspect};
  }
  Judgement operator()(const Stats& /*stats*/) const { return for_all(Verb::Monitor); }
  // Core leaves out the tubes that are not for the user: may_list().
  Judgement operator()(const ListTubes& /*list*/) const { return {}; }
  Judgement operator()(const ListTubeUsed& /*list*/) const { return {}; }
  Judgement operator()(const ListTubesWatched& /*list*/) const { return {}; }
  Judgement operator()(const ListJobs& list) const {
    if (!list.tube.empty()) return on(list.tube, {Verb::Inspect});
    if (user.may_everywhere(Verb::Inspect)) return {};
    return {Verdict::Forbidden, Verb::Inspect};
  }
  Judgement operator()(const PauseTube& pause) const { return on(pause.tube, {Verb::Manage}); }
  Judgement operator()(const FlushTube& flush) const { return on(flush.tube, {Verb::Manage}); }
  Judgement operator()(const MoveTube& move) const {
    return worse(on(move.from, {Verb::Manage}), into(move.to));
  }
  Judgement operator()(const KickTube& kick) const { return on(kick.tube, {Verb::Manage}); }
  // The names come first, so that their answer does not depend on the job.
  Judgement operator()(const SetJob& set) const {
    const Judgement dead = set.dead.value ? into(*set.dead.value) : Judgement();
    return worse(worse(into(set.tube), dead), on_job(set.id, Verb::Manage));
  }
  Judgement operator()(const SetTube& set) const {
    const Judgement dead = set.dead.value ? into(*set.dead.value) : Judgement();
    return worse(on(set.tube, {Verb::Manage}), dead);
  }
  Judgement operator()(const Drain& /*drain*/) const { return for_all(Verb::Admin); }
  Judgement operator()(const Undrain& /*undrain*/) const { return for_all(Verb::Admin); }
  Judgement operator()(const Checkpoint& /*checkpoint*/) const { return for_all(Verb::Admin); }
  Judgement operator()(const Extensions& /*extensions*/) const { return {}; }
  Judgement operator()(const Auth& /*auth*/) const { return {}; }
  Judgement operator()(const Quit& /*quit*/) const { return {}; }
  // What was refused already does nothing.
  Judgement operator()(const PutTooBig& /*put*/) const { return {}; }
  Judgement operator()(const PutTrailingJunk& /*put*/) const { return {}; }
  Judgement operator()(const PutNoCrlf& /*put*/) const { return {}; }
  Judgement operator()(const PutBatchRefused& /*batch*/) const { return {}; }
  Judgement operator()(const Malformed& /*line*/) const { return {}; }
};

}  // namespace

Judgement judge(const User& user, ConnId conn, Command& command, engine::EngineView engine) {
  return std::visit(Judge{user, conn, engine}, command);
}

void hide(Command& command) {
  std::visit(
      []<typename C>(C& any) {
        if constexpr (requires { JobId{any.id}; }) {
          any.id = 0;  // No job has it.
        } else {
          CHECK(false);
        }
      },
      command);
}

bool may_list(const User& user, std::string_view tube) {
  return user.may(Verb::Monitor) || user.verbs_on(tube).holds_any(of_tubes);
}

// The metrics show the counters of all tubes to whoever may see the server's.
bool may_count(const User& user, std::string_view tube) {
  return user.may(Verb::Monitor) || user.verbs_on(tube).holds(Verb::Inspect);
}

bool is_of_operator(const Command& command) {
  return std::visit(
      []<typename C>(const C& /*command*/) {
        return std::is_same_v<C, Kick> || std::is_same_v<C, KickJob> ||
               std::is_same_v<C, PauseTube> || std::is_same_v<C, FlushTube> ||
               std::is_same_v<C, MoveTube> || std::is_same_v<C, KickTube> ||
               std::is_same_v<C, SetJob> || std::is_same_v<C, SetTube> ||
               std::is_same_v<C, Drain> || std::is_same_v<C, Undrain> ||
               std::is_same_v<C, Checkpoint>;
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
