#include "cmd/perenniald/core/core.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "cmd/common/secret.h"
#include "cmd/perenniald/core/beanstalk_session.h"
#include "engine/types/check.h"

namespace perennial::core {
namespace {

engine::Limits engine_limits(const Options& options) {
  engine::Limits limits = options.engine;
  limits.batch_reply_bytes_max = options.output_bytes_max;
  limits.has_extensions = options.extensions.allows(Extension::Probe);
  return limits;
}

// Whether it takes space on the disk, so that it may be refused or have to wait. Puts do, and
// notes, and schedules.
bool takes_space(const Command& command) {
  return std::holds_alternative<Put>(command) || std::holds_alternative<PutBatch>(command) ||
         std::holds_alternative<NoteJob>(command) || std::holds_alternative<SetSchedule>(command) ||
         std::holds_alternative<RunSchedule>(command);
}

// Of what takes space, also if its bytes were dropped.
size_t body_bytes_of(const Command& command) {
  if (const auto* const batch = std::get_if<PutBatch>(&command)) return batch->bytes;
  if (const auto* const note = std::get_if<NoteJob>(&command)) return note->bytes;
  if (const auto* const set = std::get_if<SetSchedule>(&command)) return set->body_bytes;
  // Its job shares a body that is in memory.
  if (std::holds_alternative<RunSchedule>(command)) return 0;
  return std::get<Put>(command).body_bytes;
}

bool is_for_admins(const Command& command) {
  return std::visit(
      []<typename C>(const C& /*command*/) {
        if constexpr (is_refused<C>) {
          return false;
        } else {
          return command_row<C>().flags.admin;
        }
      },
      command);
}

// That a schedule is gone is noticed only when its time has come, so the audit says whose doing it
// was.
bool changes_schedule(const Command& command) {
  return std::holds_alternative<SetSchedule>(command) ||
         std::holds_alternative<DeleteSchedule>(command) ||
         std::holds_alternative<PauseSchedule>(command);
}

void limit_to_held(Command& command) {
  if (auto* const deleted = std::get_if<Delete>(&command)) deleted->only_held = true;
  if (auto* const note = std::get_if<NoteJob>(&command)) note->only_held = true;
}

// The answer to a put-batch, which says which items have become jobs; null after any other input.
const BatchInserted* batch_inserted(const engine::Output& output) {
  for (const engine::ConnReply& reply : output.replies) {
    const auto* const batch = std::get_if<std::unique_ptr<BatchInserted>>(&reply.reply);
    if (batch != nullptr) return batch->get();
  }
  return nullptr;
}

// Gives the bodies of an input to the jobs that it puts, in order.
class NewBodies {
 public:
  NewBodies(std::span<Body> bodies, const BatchInserted* batch) : bodies_(bodies), batch_(batch) {}

  // The body of the next job. An item whose key was taken puts no job, so its body is passed over.
  // An empty body may be left out.
  Body take() {
    while (batch_ != nullptr && batch_->items[next_].is_duplicate) ++next_;
    return next_ < bodies_.size() ? std::move(bodies_[next_++]) : Body();
  }

 private:
  std::span<Body> bodies_;
  const BatchInserted* batch_;
  size_t next_ = 0;
};

// Whether the command waits only until the client sends a further line.
bool may_be_aborted(const Command& command) {
  return std::visit(
      [](const auto& any) {
        if constexpr (requires { any.options->abort; }) {
          return any.options && any.options->abort.given;
        } else {
          return false;
        }
      },
      command);
}

}  // namespace

Core::Core(Options options)
    : options_(std::move(options)),
      engine_(engine_limits(options_)),
      budget_({.memory_bytes_max = options_.memory_bytes_max,
               .answers_bytes_max = options_.output_total_bytes_max}),
      shared_bodies_(budget_, options_.output_little_bytes),
      bodies_(options_.body_cache_bytes, budget_, shared_bodies_),
      waits_(budget_, options_.output_little_bytes, options_.reads_max),
      run_budget_(options_.run_cost_max),
      batches_({.bytes_max = options_.batch_bytes_max, .idle = options_.sync_idle}),
      held_(batches_),
      admission_(engine_.view(), budget_, batches_, options_.pending_bytes_max),
      checkpoints_(engine_.view(), batches_, options_.temporary_checkpoints_max,
                   [this](ConnId id, const Reply& reply) {
                     if (BeanstalkSession* const conn = find(id)) reply_to(*conn, reply);
                   }),
      large_answers_(engine_.view(), budget_, shared_bodies_, waits_) {}

Core::~Core() = default;

void Core::resume(uint64_t epoch, BatchIndex last_index, JobId next_id, Nanos now) {
  batches_.resume(epoch, last_index);
  bodies_.unpin(last_index);
  output_.clear();
  const Status restored = engine_.finish_restore(next_id, now, output_);
  CHECK(restored.ok());
  absorb_transitions({}, now);
  ended_.on_written(last_index);
  ended_.look_at_all(now);
}

bool Core::is_caught_up(Nanos now) const {
  const std::optional<Nanos> next = engine_.next_deadline();
  return !next || *next > now;
}

Core::BeanstalkSession* Core::find(ConnId conn) const {
  const auto found = sessions_.find(conn);
  return found != sessions_.end() ? found->second.get() : nullptr;
}

// What is due happens before the command is run, as in beanstalkd. The timer alone is not enough,
// because it may fire a little late.
void Core::catch_up(Nanos now) {
  if (now == caught_up_) return;
  caught_up_ = now;
  if (!is_caught_up(now)) tick(now);
}

void Core::tick(Nanos now) {
  ticked_at_ = now;
  const engine::Tick tick = {.go_on = !must_hold_transitions()};
  apply({.now = now, .accepts_puts = admission_.accepts_any(), .event = tick});
  ended_.on_timer(now);
  if (!tick.go_on) return;
  const std::optional<Nanos> next = engine_.next_deadline();
  if (next && *next <= now) transitions_left_in_ = batches_.open_index();
}

Session& Core::open(ConnId conn, Nanos now, const access::ClientRights& rights) {
  catch_up(now);
  auto opened = std::make_unique<BeanstalkSession>(*this, conn, rights, now);
  Session& session = *opened;
  CHECK(sessions_.emplace(conn, std::move(opened)).second);
  apply({.now = now,
         .conn = conn,
         .accepts_puts = admission_.accepts_any(),
         .event = engine::Opened{.is_internal = rights.is_internal}});
  if (gate_.users() != nullptr) begin_sign_in(static_cast<BeanstalkSession&>(session), rights, now);
  return session;
}

Session* Core::session(ConnId conn) const {
  return find(conn);
}

bool Core::close_connection(ConnId conn) {
  BeanstalkSession* const session = find(conn);
  if (session == nullptr || session->is_internal) return false;
  close_now(*session);
  return true;
}

std::string_view Core::user_of(ConnId conn) const {
  if (gate_.users() == nullptr) return {};
  const BeanstalkSession* const session = find(conn);
  if (session == nullptr || !session->access || session->access->user == nullptr) return {};
  return session->access->user->name;
}

size_t Core::output_bytes(ConnId conn) const {
  const BeanstalkSession* const session = find(conn);
  return session != nullptr ? session->output_bytes() : 0;
}

void Core::end_session(BeanstalkSession& session, Nanos now) {
  const ConnId conn = session.id;
  const engine::Closed closed = {.after_quit = session.quitting && !session.foreign_protocol};
  catch_up(now);
  unidentified_.remove(session.id);
  if (session.may_hear_secret()) session.parser.wipe_line();
  if (session.queued_answers > 0) large_answers_.drop_connection(conn);
  sessions_.erase(conn);
  checkpoints_.on_close(conn);
  apply({.now = now, .conn = conn, .accepts_puts = admission_.accepts_any(), .event = closed});
}

void Core::on_timer(Nanos now) {
  caught_up_ = now;
  on_sign_in_time(now);
  tick(now);
}

void Core::on_drain(Nanos now) {
  apply({.now = now, .accepts_puts = admission_.accepts_any(), .event = engine::DrainSignal{}});
}

void Core::on_disk_space(bool accepts_puts, Nanos now) {
  admission_.on_disk_space(accepts_puts);
  resume_held_puts(now);
}

void Core::on_write_stall(bool stalled, Nanos now) {
  admission_.on_write_stall(stalled);
  resume_held_puts(now);
}

uint64_t Core::jobs_damaged() const {
  return engine_.view().jobs_damaged();
}

void Core::make_runnable(BeanstalkSession& conn) {
  if (conn.runnable || conn.backlog.empty()) return;
  conn.runnable = true;
  runnable_.push_back(conn.id);
}

void Core::run_next(Nanos now) {
  CHECK(has_runnable());
  catch_up(now);
  if (admission_.may_resume()) return resume_held_puts(now);
  if (large_answers_.may_make()) return make_large_answer(now);
  if (!to_examine_.empty()) return examine_some();
  if (runnable_.empty()) return;  // catch_up() has used the memory.
  BeanstalkSession* const conn = find(runnable_.front());
  runnable_.pop_front();
  if (conn == nullptr) return;
  conn->runnable = false;
  conn->run_backlog(now);
}

void Core::handle(BeanstalkSession& conn, wire::Step&& step, Nanos now) {
  if (std::holds_alternative<Quit>(*step.command)) {
    conn.quitting = true;
    return;
  }
  conn.unanswered = true;
  conn.command = {.at = now, .kind = kind_of(*step.command)};
  conn.active_at = now;
  ++conn.commands;
  if (auto* const auth = std::get_if<Auth>(&*step.command)) {
    on_auth(conn, *auth, now);
    return common::wipe(auth->token);
  }
  if (conn.has_leases) limit_to_held(*step.command);
  if (gate_.users() != nullptr && !is_admitted(conn, *step.command)) return;
  if (const auto* const asked = std::get_if<Checkpoint>(&*step.command)) {
    return on_checkpoint_asked(conn, *asked, now);
  }
  if (std::holds_alternative<Extensions>(*step.command)) return reply_to(conn, options_.extensions);
  if (const auto* const asked = std::get_if<ListClients>(&*step.command)) {
    return reply_to(conn, list_clients(*asked, now));
  }
  if (is_denied(conn, *step.command)) return reply_to(conn, Word::Denied);
  if (auto* const note = std::get_if<NoteJob>(&*step.command)) {
    if (!notes_allowed_) return reply_to(conn, Word::Denied);
    note->user = user_of(conn.id);
  }
  // With users is_admitted() has told it. Without them somebody may still ask who it was.
  if (gate_.users() == nullptr &&
      (is_for_admins(*step.command) || changes_schedule(*step.command))) {
    gate_.audit(audit_event(conn, *step.command));
  }
  if (serve_ended(conn, *step.command, now)) return;
  if (serve_schedules(conn, *step.command, now)) return;
  const size_t listed_bytes = engine_.view().listed_bytes(conn.id, *step.command);
  if (large_answers_.must_wait(listed_bytes)) {
    ++conn.queued_answers;
    large_answers_.add(
        {.bytes = listed_bytes, .conn = conn.id, .command = std::move(step.command)});
    return;
  }
  const std::span<Body> bodies = step.bodies.empty() ? std::span(&step.body, 1) : step.bodies;
  const bool accepts_puts = !step.body_dropped && admission_.accepts(bodies);
  // What will be refused writes nothing, so it need not wait for the log.
  if (takes_space(*step.command) && accepts_puts && admission_.must_wait()) {
    conn.hold_put({.command = std::move(*step.command),
                   .bodies = {std::make_move_iterator(bodies.begin()),
                              std::make_move_iterator(bodies.end())}});
    admission_.add_waiting(conn.id);
    return;
  }
  conn.wait_may_be_aborted = may_be_aborted(*step.command);
  if (takes_space(*step.command) && !accepts_puts) {
    apply_without_space({.now = now, .conn = conn.id, .event = std::move(*step.command)}, bodies);
  } else {
    apply({.now = now,
           .conn = conn.id,
           .accepts_puts = accepts_puts,
           .event = std::move(*step.command)},
          bodies);
  }
  if (conn.unanswered && conn.command.kind == CommandKind::Reserve) conn.command.at = 0;
}

bool Core::is_denied(const BeanstalkSession& conn, const Command& command) const {
  const bool is_heard = options_.admin_on == access::AdminOn::Any ||
                        (options_.admin_on == access::AdminOn::Unix && conn.is_unix);
  return !is_heard && is_for_admins(command);
}

void Core::on_checkpoint_asked(BeanstalkSession& conn, const Checkpoint& asked, Nanos now) {
  if (conn.may_checkpoint && !asked.trailing_junk) {
    return checkpoints_.ask(conn.id, asked.temporary, admission_.disk_accepts_puts());
  }
  const auto kind =
      conn.may_checkpoint ? Malformed::Kind::BadFormat : Malformed::Kind::UnknownCommand;
  const Command refused = Malformed{kind};
  apply({.now = now, .conn = conn.id, .accepts_puts = admission_.accepts_any(), .event = refused});
}

// A kick, the end of a connection and delays that end together may each move millions of jobs. When
// the disk is slower than that, these transitions are held until nearly all batches up to the one
// with the last of them are committed. If they went on, their batches would fill the queue, and the
// replies of all clients would wait for them. During the start no client waits, so nothing is held.
bool Core::must_hold_transitions() const {
  constexpr BatchIndex batches_ahead_max = 2;
  return !sessions_.empty() && transitions_left_in_ > batches_.committed() + batches_ahead_max;
}

// Resumes puts within one run budget. run_next() resumes the others later.
void Core::resume_held_puts(Nanos now) {
  const RunBudget::Run run(run_budget_);
  while (admission_.may_resume() && run.may_go_on()) {
    run_budget_.spend_on_command(0);
    BeanstalkSession* const conn = find(admission_.take_waiting());
    if (conn == nullptr) continue;
    HeldPut held = conn->take_held_put();
    engine::Input input = {.now = now, .conn = conn->id, .event = std::move(held.command)};
    if (admission_.accepts(held.bodies)) {
      apply(std::move(input), held.bodies);
    } else {
      apply_without_space(std::move(input), held.bodies);
    }
  }
}

// ---- Commands to batches and replies.

void Core::apply(engine::Input&& input, std::span<Body> bodies) {
  output_.clear();
  input.wall = wall(input.now);
  input.keeps_ended = ended_allowed_ && ended_disk() == EndedDesk::Disk::Ample;
  if (input.conn != 0) input.user = user_of(input.conn);
  engine_.apply(input, output_);
  run_budget_.spend(output_.cost);
  absorb_transitions(bodies, input.now);
  absorb_replies(input.now);
  if (!output_.names_parts.empty()) absorb_names_parts();
}

// The engine may refuse it for another reason, or answer with the job that has its key.
void Core::apply_without_space(engine::Input&& input, std::span<Body> bodies) {
  constexpr auto space = static_cast<size_t>(PutRefusal::Space);
  input.accepts_puts = false;
  const bool lacks_disk = admission_.lacks_disk(body_bytes_of(std::get<Command>(input.event)));
  const uint64_t before = engine_.view().puts_refused()[space];
  apply(std::move(input), bodies);
  if (engine_.view().puts_refused()[space] == before) return;
  ++(lacks_disk ? answer_counts_.puts_refused.disk : answer_counts_.puts_refused.memory);
}

void Core::absorb_transitions(std::span<Body> bodies, Nanos now) {
  if (output_.transitions.empty()) return;
  size_t body_bytes = 0;
  for (const Body& body : bodies) body_bytes += body.size();
  batches_.begin_input(body_bytes, now);
  NewBodies new_bodies(bodies, bodies.size() > 1 ? batch_inserted(output_) : nullptr);
  const ScheduleChanged* fired = nullptr;  // The last one: it comes just before its job.
  for (const Transition& transition : output_.transitions) {
    std::string_view view;
    if (const auto* const moved = std::get_if<JobMoved>(&transition)) {
      if (!moved->before && fired != nullptr && fired->progress.last_job == moved->id) {
        view = body_of_schedule_job(*moved, fired->name);
      } else if (!moved->before) {
        view = bodies_.insert(moved->id, new_bodies.take(), batches_.open_index());
      }
      if (!moved->after) {
        rescue_body(moved->id);
        bodies_.erase(moved->id, batches_.open_index());
      }
      if (moved->after && moved->promised) held_.on_promise(moved->id);
    } else if (const auto* const noted = std::get_if<NoteStored>(&transition)) {
      notes_.on_stored(*noted, batches_.open_index());
    } else if (const auto* const set = std::get_if<ScheduleStored>(&transition)) {
      view = schedule_bodies_.set(set->schedule->name, new_bodies.take(), batches_.open_index());
    } else if (const auto* const changed = std::get_if<ScheduleChanged>(&transition)) {
      fired = changed;
    } else if (const auto* const deleted = std::get_if<ScheduleDeleted>(&transition)) {
      schedule_bodies_.erase(deleted->name, batches_.open_index());
    }
    ended_.on_transition(transition, batches_.open_index(), now);
    batches_.add(transition, view);
  }
}

void Core::absorb_replies(Nanos now) {
  for (const engine::ConnReply& reply : output_.replies) {
    BeanstalkSession* const conn = find(reply.conn);
    CHECK(conn != nullptr);
    if (conn->command.at == 0) conn->command.at = now;
    reply_to(*conn, reply.reply);
  }
}

void Core::reply_to(BeanstalkSession& conn, const Reply& reply) {
  conn.unanswered = false;
  conn.wait_may_be_aborted = false;
  const size_t slots_before = conn.replies.outbox.open_slots();
  answer(conn, reply);
  // An answer that waits for a body or for notes is counted when these have come.
  const bool may_wait =
      std::holds_alternative<JobReply>(reply) || std::holds_alternative<NotesOf>(reply);
  const bool waits_for_read = may_wait && conn.replies.outbox.open_slots() > slots_before;
  if (!waits_for_read) held_.count(conn.replies, conn.command);
  make_runnable(conn);
  touch(conn);
}

void Core::answer(BeanstalkSession& conn, const Reply& reply) {
  if (const auto* const job = std::get_if<JobReply>(&reply))
    return answer_job(conn, *job, conn.command);
  if (const auto* const jobs = std::get_if<std::unique_ptr<JobsReserved>>(&reply)) {
    return answer_jobs(conn, **jobs);
  }
  if (const auto* const notes = std::get_if<NotesOf>(&reply)) return answer_notes(conn, *notes);
  const BatchIndex after = held_.after_all(conn.replies);
  scratch_.clear();
  if (const auto* const word = std::get_if<Word>(&reply)) {
    answer_counts_.on_word(*word, conn.command.kind);
  } else if (std::holds_alternative<std::unique_ptr<CheckpointFailed>>(reply)) {
    answer_counts_.on_word(Word::Failed, conn.command.kind);
  }
  if (const auto* const stats = std::get_if<std::unique_ptr<EngineStats>>(&reply)) {
    ProcessFacts process = options_.process_facts();
    process.connections_refused = connections_refused_;
    wire::append_stats(scratch_, **stats, process, options_.store_facts(), stats_style());
  } else if (const auto* const names = std::get_if<std::unique_ptr<TubeNames>>(&reply);
             names != nullptr && conn.access && conn.access->lists_all_tubes) {
    wire::append_reply(scratch_, std::make_unique<TubeNames>(visible_to(conn, **names)));
  } else {
    wire::append_reply(scratch_, reply, stats_style());
  }
  push_scratch(conn, after);
}

// All connections are looked at for each page, so each costs what a name in a listing does.
std::unique_ptr<ClientList> Core::list_clients(const ListClients& asked, Nanos now) {
  std::vector<ConnId> ids = engine_.view().connections();
  run_budget_.spend(ids.size());
  std::erase_if(ids, [&asked](ConnId id) { return id <= asked.after; });
  const size_t shown = std::min<size_t>(asked.count.value, ids.size());
  std::ranges::partial_sort(ids, ids.begin() + static_cast<ptrdiff_t>(shown));
  auto list = std::make_unique<ClientList>();
  if (shown < ids.size()) list->cursor = ids[shown - 1];
  ids.resize(shown);
  for (const ConnId id : ids) {
    const BeanstalkSession* const session = find(id);
    std::optional<ConnStats> stats = engine_.view().connection_statistics(id);
    if (session == nullptr || !stats) continue;  // It is about to end.
    list->clients.push_back({.stats = std::move(*stats),
                             .address = options_.address_of ? options_.address_of(id) : "",
                             .user = std::string(user_of(id)),
                             .age = now - session->opened_at,
                             .idle = now - session->active_at,
                             .commands = session->commands,
                             .output_bytes = session->output_bytes()});
  }
  return list;
}

// Without extensions a client sees what beanstalkd has, and nothing else.
wire::StatsStyle Core::stats_style() const {
  return {.quotes_names = options_.stats_quotes,
          .has_own_keys = options_.extensions.allows(Extension::Probe)};
}

}  // namespace perennial::core
