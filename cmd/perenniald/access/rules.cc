#include "cmd/perenniald/access/rules.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::access {
namespace {

constexpr VerbSet of_tubes = {Verb::Produce, Verb::Consume, Verb::Inspect, Verb::Manage};
// Of these verbs alone are commands that change what belongs to others.
constexpr VerbSet of_operators = {Verb::Manage, Verb::Admin};
// Either lets jobs come into a tube.
constexpr VerbSet adds = {Verb::Produce, Verb::Manage};

bool is_allowed(const Judgement& judgement) {
  return judgement.verdict == Verdict::Allowed;
}

Judgement worse(Judgement one, Judgement other) {
  return is_allowed(one) ? std::move(other) : std::move(one);
}

struct Judge {
  const User& user;
  const ConnId conn;
  const engine::EngineView engine;

  // ---- By the name of a tube. Whether the tube exists makes no difference.
  Judgement on(std::string_view tube, VerbSet verbs) const {
    if (user.verbs_on(tube).holds_any(verbs)) return {};
    return {Verdict::Forbidden, verbs.first(), std::string(tube)};
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

  // ---- The rules that the scope alone does not tell. Only delete_batch() changes its command.
  // `tube`: where the put goes if it names no tube.
  Judgement put_into(std::string_view tube, const Put& put) const {
    if (!put.options) return on(tube, {Verb::Produce});
    const std::string& named = put.options->tube;
    return worse(on(named.empty() ? tube : named, {Verb::Produce}), into(put.options->dead));
  }
  Judgement put(Put& put) const { return put_into(engine.used_tube(conn), put); }
  Judgement put_batch(PutBatch& batch) const {
    const std::string& tube = batch.tube.empty() ? engine.used_tube(conn) : batch.tube;
    Judgement verdict;
    for (const Put& put : batch.items) verdict = worse(verdict, put_into(tube, put));
    return verdict;
  }
  template <typename C>
  Judgement reserve(C& /*reserve*/) const {
    return engine.watches(conn, "default") ? on("default", {Verb::Consume}) : Judgement();
  }
  Judgement delete_id(JobId id) const {
    return on_job_or_hidden(id, engine.holds(conn, id) ? Verb::Consume : Verb::Manage);
  }
  // One that only the holder's command reaches is judged as the holder's.
  template <typename C>
  Judgement delete_or_note(const C& command) const {
    return command.only_held ? on_job_or_hidden(command.id, Verb::Consume) : delete_id(command.id);
  }
  Judgement note_job(NoteJob& note) const { return delete_or_note(note); }
  // The holder has been told of the job, and may know why it failed before.
  Judgement list_notes(ListNotes& list) const {
    return on_job(list.id, engine.holds(conn, list.id) ? Verb::Consume : Verb::Inspect);
  }
  // Whose tube is known only when the job is read. Core looks at its grants then.
  Judgement peek_ended(PeekEnded& /*peek*/) const { return for_all(Verb::Inspect); }
  Judgement restore_job(RestoreJob& /*restore*/) const { return for_all(Verb::Manage); }
  Judgement delete_job(Delete& command) const { return delete_or_note(command); }
  Judgement delete_batch(DeleteBatch& batch) const {
    for (const JobId id : batch.ids) {
      if (!is_allowed(delete_id(id))) batch.hidden.push_back(id);
    }
    return {};
  }
  Judgement stats_tube(StatsTube& stats) const {
    if (may_count(user, stats.tube)) return {};
    return {Verdict::Forbidden, Verb::Inspect};
  }
  Judgement list_jobs(ListJobs& list) const {
    if (!list.tube.empty()) return on(list.tube, {Verb::Inspect});
    if (user.may_everywhere(Verb::Inspect)) return {};
    return {Verdict::Forbidden, Verb::Inspect};
  }
  Judgement move_tube(MoveTube& move) const {
    return worse(on(move.from, {Verb::Manage}), into(move.to));
  }
  // The names come first, so that their answer does not depend on the job.
  Judgement set_job(SetJob& set) const {
    const Judgement dead = set.dead.value ? into(*set.dead.value) : Judgement();
    return worse(worse(into(set.tube), dead), on_job(set.id, Verb::Manage));
  }
  Judgement set_tube(SetTube& set) const {
    const Judgement dead = set.dead.value ? into(*set.dead.value) : Judgement();
    return worse(on(set.tube, {Verb::Manage}), dead);
  }

  // ---- By the name of a schedule, as on_job() by the id of a job.
  template <typename C>
  Judgement on_schedule(const C& command, Verb verb) const {
    if (!user.may(verb)) return {Verdict::Forbidden, verb};
    const auto seen = engine.schedule(command.name);
    if (!seen) return {};  // NOT_FOUND
    const bool may = user.verbs_on(seen->stored->schedule->tube).holds(verb);
    return may ? Judgement() : Judgement{Verdict::Hidden, verb};
  }
  Judgement delete_schedule(DeleteSchedule& c) const { return on_schedule(c, Verb::Manage); }
  Judgement pause_schedule(PauseSchedule& c) const { return on_schedule(c, Verb::Manage); }
  Judgement run_schedule(RunSchedule& c) const { return on_schedule(c, Verb::Manage); }
  Judgement stats_schedule(StatsSchedule& c) const { return on_schedule(c, Verb::Inspect); }
  Judgement peek_schedule(PeekSchedule& c) const { return on_schedule(c, Verb::Inspect); }
  // The names come first. That a schedule of the name is somebody else's cannot be kept from
  // whoever wants to set it.
  Judgement set_schedule(SetSchedule& set) const {
    const std::string& named = set.options->tube;
    const std::string& tube = named.empty() ? engine.used_tube(conn) : named;
    const Judgement names = worse(on(tube, {Verb::Manage}), into(set.options->dead));
    const auto old = engine.schedule(set.name);
    const bool is_others = old && !user.verbs_on(old->stored->schedule->tube).holds(Verb::Manage);
    return worse(names, is_others ? Judgement{Verdict::Forbidden, Verb::Manage} : Judgement());
  }

  template <typename C>
  Judgement operator()(C& command) const;
};

// ---- The table.

// On which tube, or for which job, a user needs one of the verbs of a rule.
enum class Scope : uint8_t {
  Nothing,   // No verb is needed.
  Server,    // No tube: the verb belongs to none.
  Tube,      // The tube that the command names.
  UsedTube,  // The tube that the connection uses.
  Job,       // The tube of the job: on_job().
  // The tube of the job, which the connection holds: on_job_or_hidden(). Of a job that it does not
  // hold the engine says NOT_FOUND, as a worker whose reservation has ended expects.
  OwnJob,
  Function,  // A function of Judge says so, because it depends on options or on the job.
};
constexpr std::string_view text_of(Scope scope) {
  switch (scope) {
    case Scope::Server:
      return "no tube";
    case Scope::Tube:
      return "the tube that the command names";
    case Scope::UsedTube:
      return "the tube that the connection uses";
    case Scope::Job:
      return "the tube of the job";
    case Scope::OwnJob:
      return "the tube of the job, which the connection holds";
    case Scope::Nothing:
    case Scope::Function:
      break;
  }
  return {};
}

template <typename C>
struct Rule {
  using Type = C;
  using Function = Judgement (Judge::*)(C&) const;

  Scope scope;
  VerbSet verbs;                // Any of them suffices; with a function, as that says.
  std::string_view where;       // The scope in words.
  Function function = nullptr;  // Of Scope::Function.
};
template <typename C>
constexpr Rule<C> needs(VerbSet verbs, Scope scope) {
  return {scope, verbs, text_of(scope)};
}
template <typename C>
constexpr Rule<C> needs_nothing(std::string_view why) {
  return {Scope::Nothing, {}, why};
}
// `function` judges. `verbs`: those that it asks for, on what `where` says.
template <typename C>
constexpr Rule<C> judged_by(typename Rule<C>::Function function, VerbSet verbs,
                            std::string_view where) {
  return {Scope::Function, verbs, where, function};
}

constexpr std::string_view of_the_connection = "what belongs to the connection";
constexpr std::string_view target =
    "the tube that the job goes to; `produce` or `manage` on the tube of `dead:`";
constexpr std::string_view watched =
    "the tubes that are watched: `default` while it is, others since `watch`";
constexpr std::string_view deleted =
    "the tube of the job: `consume` if the connection holds it, else `manage`";

constexpr std::string_view scheduled = "the tube of the schedule";
constexpr std::string_view ended = "the tube in which the job ended";
constexpr std::string_view noted =
    "the tube of the job: `consume` if the connection holds it, else `inspect`";

// clang-format off
constexpr std::tuple rules{
    judged_by<Put>(&Judge::put, {Verb::Produce}, target),
    judged_by<PutBatch>(&Judge::put_batch, {Verb::Produce}, target),
    // A tube is used to put, to look at its jobs, and to kick them.
    needs<Use>({Verb::Produce, Verb::Inspect, Verb::Manage}, Scope::Tube),
    needs<Watch>({Verb::Consume}, Scope::Tube),
    judged_by<Reserve>(&Judge::reserve<Reserve>, {Verb::Consume}, watched),
    judged_by<ReserveWithTimeout>(&Judge::reserve<ReserveWithTimeout>, {Verb::Consume}, watched),
    judged_by<ReserveBatch>(&Judge::reserve<ReserveBatch>, {Verb::Consume}, watched),
    needs<ReserveJob>({Verb::Consume}, Scope::Job),
    needs<Release>({Verb::Consume}, Scope::OwnJob),
    needs<Bury>({Verb::Consume}, Scope::OwnJob),
    needs<Touch>({Verb::Consume}, Scope::OwnJob),
    judged_by<Delete>(&Judge::delete_job, {Verb::Consume, Verb::Manage}, deleted),
    judged_by<DeleteBatch>(&Judge::delete_batch, {Verb::Consume, Verb::Manage}, deleted),
    needs<Peek>({Verb::Inspect}, Scope::Job),
    needs<StatsJob>({Verb::Inspect}, Scope::Job),
    judged_by<NoteJob>(&Judge::note_job, {Verb::Consume, Verb::Manage}, deleted),
    judged_by<ListNotes>(&Judge::list_notes, {Verb::Consume, Verb::Inspect}, noted),
    judged_by<PeekEnded>(&Judge::peek_ended, {Verb::Inspect}, ended),
    judged_by<RestoreJob>(&Judge::restore_job, {Verb::Manage}, ended),
    needs<PeekReady>({Verb::Inspect}, Scope::UsedTube),
    needs<PeekDelayed>({Verb::Inspect}, Scope::UsedTube),
    needs<PeekBuried>({Verb::Inspect}, Scope::UsedTube),
    needs<PeekReserved>({Verb::Inspect}, Scope::UsedTube),
    judged_by<ListJobs>(&Judge::list_jobs, {Verb::Inspect},
                        "the tube that the command names; of `*` on the pattern `*`"),
    judged_by<StatsTube>(&Judge::stats_tube, {Verb::Inspect, Verb::Monitor},
                         "`inspect` on the tube that the command names; `monitor` on no tube"),
    needs<PauseTube>({Verb::Manage}, Scope::Tube),
    needs<FlushTube>({Verb::Manage}, Scope::Tube),
    needs<KickTube>({Verb::Manage}, Scope::Tube),
    needs<RestoreTube>({Verb::Manage}, Scope::Tube),
    needs<Kick>({Verb::Manage}, Scope::UsedTube),
    needs<KickJob>({Verb::Manage}, Scope::Job),
    judged_by<SetTube>(&Judge::set_tube, {Verb::Manage},
                       "the tube that the command names; `produce` or `manage` on that of `dead:`"),
    judged_by<MoveTube>(&Judge::move_tube, {Verb::Manage},
                        "the tube that jobs leave; `produce` or `manage` on the one they go to"),
    judged_by<SetJob>(&Judge::set_job, {Verb::Manage},
                      "the tube of the job; `produce` or `manage` on those of `tube:` and `dead:`"),
    judged_by<SetSchedule>(&Judge::set_schedule, {Verb::Manage},
                           "the tube of the schedule, and that of one that it replaces; `produce` or "
                           "`manage` on that of `dead:`"),
    judged_by<DeleteSchedule>(&Judge::delete_schedule, {Verb::Manage}, scheduled),
    judged_by<PauseSchedule>(&Judge::pause_schedule, {Verb::Manage}, scheduled),
    judged_by<RunSchedule>(&Judge::run_schedule, {Verb::Manage}, scheduled),
    judged_by<StatsSchedule>(&Judge::stats_schedule, {Verb::Inspect}, scheduled),
    judged_by<PeekSchedule>(&Judge::peek_schedule, {Verb::Inspect}, scheduled),
    needs<Stats>({Verb::Monitor}, Scope::Server),
    needs<Drain>({Verb::Admin}, Scope::Server),
    needs<Undrain>({Verb::Admin}, Scope::Server),
    needs<ListClients>({Verb::Admin}, Scope::Server),
    needs<Checkpoint>({Verb::Admin}, Scope::Server),
    needs_nothing<Auth>(of_the_connection),
    needs_nothing<Quit>(of_the_connection),
    needs_nothing<Ignore>(of_the_connection),
    needs_nothing<SetReserveMode>(of_the_connection),
    // The engine touches only jobs that the connection holds.
    needs_nothing<TouchBatch>(of_the_connection),
    needs_nothing<ListTubeUsed>(of_the_connection),
    needs_nothing<ListTubesWatched>(of_the_connection),
    needs_nothing<Extensions>("the same for everybody"),
    // Core leaves out the others: may_list().
    // Core leaves out the others: may_see_schedules().
    needs_nothing<ListSchedules>("names the schedules of tubes on which the user may `inspect` or "
                                 "`manage`"),
    needs_nothing<ListTubes>("names the tubes on which the user has a grant; all with `monitor`"),
};
// clang-format on

// A command without a rule, or with two, does not compile.
static_assert(std::tuple_size_v<decltype(rules)> == commands_count,
              "each command of command_rows has one rule");
template <typename C>
constexpr const Rule<C>& rule_of() {
  return std::get<Rule<C>>(rules);
}

template <typename C>
Judgement Judge::operator()(C& command) const {
  if constexpr (is_refused<C>) {
    return {};  // What was refused already does nothing.
  } else {
    constexpr Rule<C> rule = rule_of<C>();
    if constexpr (rule.scope == Scope::Server) {
      return for_all(rule.verbs.first());
    } else if constexpr (rule.scope == Scope::Tube) {
      return on(command.tube, rule.verbs);
    } else if constexpr (rule.scope == Scope::UsedTube) {
      return on_used(rule.verbs);
    } else if constexpr (rule.scope == Scope::Job) {
      return on_job(command.id, rule.verbs.first());
    } else if constexpr (rule.scope == Scope::OwnJob) {
      return on_job_or_hidden(command.id, rule.verbs.first());
    } else if constexpr (rule.scope == Scope::Function) {
      return (this->*rule.function)(command);
    } else {
      static_assert(rule.scope == Scope::Nothing);
      return {};
    }
  }
}

}  // namespace

Judgement judge(const User& user, ConnId conn, Command& command, engine::EngineView engine) {
  return std::visit(Judge{user, conn, engine}, command);
}

void hide(Command& command) {
  std::visit(
      []<typename C>(C& any) {
        if constexpr (requires { JobId{any.id}; }) {
          any.id = 0;  // No job has it.
        } else if constexpr (requires { any.name.clear(); }) {
          any.name.clear();  // No schedule has it.
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

bool may_see_schedules(const User& user, std::string_view tube) {
  return user.verbs_on(tube).holds_any({Verb::Inspect, Verb::Manage});
}

bool is_of_operator(const Command& command) {
  return std::visit(
      []<typename C>(const C& /*command*/) {
        if constexpr (is_refused<C>) {
          return false;
        } else {
          constexpr VerbSet verbs = rule_of<C>().verbs;
          return !verbs.empty() && of_operators.holds_all(verbs);
        }
      },
      command);
}

std::vector<CommandRule> command_rules() {
  std::vector<CommandRule> out;
  std::apply(
      [&]<typename... C>(const Rule<C>&... rule) {
        (out.push_back({command_row<C>().word(), rule.verbs, rule.where}), ...);
      },
      rules);
  return out;
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
        } else if constexpr (requires { any.name.size(); }) {
          return "schedule " + any.name;
        } else {
          return {};
        }
      },
      command);
}

}  // namespace perennial::access
