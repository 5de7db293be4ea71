#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/common/newcomers.h"
#include "cmd/perenniald/access/audit.h"
#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/access/gate.h"
#include "cmd/perenniald/access/sign_in.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/core/answer_counts.h"
#include "cmd/perenniald/core/batches/batch_queue.h"
#include "cmd/perenniald/core/batches/checkpoint_coordinator.h"
#include "cmd/perenniald/core/body_cache.h"
#include "cmd/perenniald/core/body_waits.h"
#include "cmd/perenniald/core/command_times.h"
#include "cmd/perenniald/core/ended/ended_desk.h"
#include "cmd/perenniald/core/held_replies.h"
#include "cmd/perenniald/core/large_answers.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/note_waits.h"
#include "cmd/perenniald/core/put_admission.h"
#include "cmd/perenniald/core/run_budget.h"
#include "cmd/perenniald/core/schedule_bodies.h"
#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/core/shared_bodies.h"
#include "engine/engine.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/types/options.h"
#include "wire/format.h"
#include "wire/parser.h"

namespace perennial::core {

// Sizes are in bytes. etc/docs/limits.md says what each limit means and what happens past it.
struct Options {
  engine::Limits engine = {};
  uint32_t job_bytes_max = 65'535;
  ExtensionSet extensions = ExtensionSet::all();  // Those that clients may use.
  bool stats_quotes = true;                       // wire::StatsStyle::quotes_names.
  access::AdminOn admin_on = access::AdminOn::Any;
  size_t pipeline_bytes_max = 64 << 10;
  size_t output_bytes_max = 4 << 20;
  size_t output_total_bytes_max = 256 << 20;
  // Each connection may hold this much of answers, whatever the others hold. An answer above this
  // is a large answer.
  size_t output_little_bytes = 64 << 10;
  size_t pending_bytes_max = 64 << 20;
  size_t batch_bytes_max = 4 << 20;
  size_t body_cache_bytes = 64 << 20;
  size_t memory_bytes_max = 0;  // 0: no limit.
  // While this many bodies are waited for, a connection that waits for one of them runs no further
  // command.
  size_t reads_max = 256;
  // What the commands of one connection may cost before other connections are run and the loop
  // checks the time. The unit is that of RunBudget.
  uint64_t run_cost_max = 100'000;
  // The most temporary checkpoints that may exist or be waited for. Each keeps the files that the
  // database had at its checkpoint point.
  size_t temporary_checkpoints_max = 16;
  // How long recoverable transitions may wait in the open batch before it is written without a
  // promised transition.
  Nanos sync_idle = 100 * nanos_per_ms;
  // The most connections that have not shown yet who they are, where there are users: together, and
  // of one address.
  common::Newcomers::Shares unidentified = {};
  std::function<void(const access::AuditEvent&)> audit = {};
  // The client of a connection has shown who it is, where there are users.
  std::function<void(ConnId)> on_signed_in = {};
  // What the wall clock shows: nanoseconds since the epoch, not negative. Called for each input of
  // the engine. Empty: the time of the input.
  std::function<Nanos()> wall = {};
  // Both functions are called when a client asks for stats.
  std::function<ProcessFacts()> process_facts = {};
  std::function<StoreFacts()> store_facts = {};
  // Where the client of a connection comes from: ClientList::Client. Called for list-clients.
  std::function<std::string(ConnId)> address_of = {};
};

// Joins parser, engine, outboxes and the open batch, without a socket, a clock or a thread. The
// owner of the loop calls core with what happened, and then does what core asks for. All calls are
// made on one thread.
//
// One turn of the loop is any number of on_... calls, and then these calls, in this order:
//   run_next()         while has_runnable(), or until the time of the turn is used up.
//   take_reads()       Read each body as the database is now: a later batch may delete it.
//   take_note_reads()  The same with notes, which a later batch may change, too.
//   take_ended_reads() The same with jobs that have ended, without that haste.
//   checkpoints()      freeze_point(), then take_point(). The log creates the checkpoint behind
//                      the last batch that was taken.
//   take_batch()       if the log is idle and batch_due(): append the batch to the log.
//   take_changed()     For each connection: write output(), then ask reading() and finished().
//   next_deadline()    Arm the timer. on_timer() is due then.
// While batch_is_large(), the three steps from take_reads() to take_batch() may also come between
// two on_... or run_next() calls. take_changed() may come before take_batch() as well, because some
// answers wait for no batch.
//
// Invariants: The replies of a connection leave in the order of its commands. A reply leaves only
// when every batch whose effects it could show is committed: RESERVED shows the state of one job,
// and any other reply may show everything. A command that follows an unanswered command of its
// connection is not run.
class Core : private EndedDesk::Queue {
 public:
  explicit Core(Options options);
  ~Core() override;

  // ---- Start. The store restores tubes, pauses and jobs into the engine. resume() then continues
  // after the index of the last batch on disk, in a new epoch. Serve no client until
  // is_caught_up(): on_timer() makes the transitions of the restart (reserved jobs become ready) in
  // steps.
  engine::Engine& engine() { return engine_; }
  void resume(uint64_t epoch, BatchIndex last_index, JobId next_id, Nanos now);
  // The body of a schedule that was restored into the engine. Called before resume().
  void restore_schedule_body(const std::string& name, Body body);
  bool is_caught_up(Nanos now) const;

  // ---- Users.
  // From here on only these users may do anything, each what its grants allow. Connections whose
  // right is gone are closed, in steps of run_next(). Without a call, everybody may do everything.
  // REQUIRES: the first call comes before the first connection.
  void set_users(std::shared_ptr<const access::Users> users);
  // Who may use the server, and what was granted and refused. Users are set above, and not there.
  access::Gate& gate() { return gate_; }

  // ---- What happened. `now` never goes back.
  // A client has connected. Core owns the session, which ends with its on_close().
  Session& open(ConnId conn, Nanos now, const access::ClientRights& rights = {});
  // Something of a client was read, if it was only half a record of TLS.
  void on_first_read(ConnId conn) { unidentified_.on_progress(conn); }
  // Returns null if the session has ended.
  Session* session(ConnId conn) const;
  // Ends the connection as an operator wants it: its jobs return. False: there is none of a client.
  bool close_connection(ConnId conn);
  // The user that a connection has shown; empty: none.
  std::string_view user_of(ConnId conn) const;
  // How many jobs the unfinished operation of the connection has changed by now. None: it has none.
  std::optional<uint64_t> operation_progress(ConnId conn) const;
  // The body of a schedule. Null: there is none. Valid until the next call that is not const.
  const Body* schedule_body(const std::string& name) const { return schedule_bodies_.find(name); }
  // When schedules are due. Null: there are none.
  const Calendar* calendar() const { return options_.engine.calendar.get(); }
  // Bytes of answers of one connection that have not left.
  size_t output_bytes(ConnId conn) const;
  void on_timer(Nanos now);
  void on_drain(Nanos now);
  // `accepts_puts`: whether the disk has free space for more jobs.
  void on_disk_space(bool accepts_puts, Nanos now);
  // `stalled`: whether the store is in a write stall. Puts wait then, and all other commands go on.
  void on_write_stall(bool stalled, Nanos now);
  // Whether notes may be written: not while a node of the cluster follows that does not know them.
  void on_notes_allowed(bool allowed) { notes_allowed_ = allowed; }
  // The same for jobs that are kept when they end.
  void on_ended_allowed(bool allowed) { ended_allowed_ = allowed; }
  // The same for schedules.
  void on_schedules_allowed(bool allowed) { schedules_allowed_ = allowed; }
  bool disk_accepts_puts() const { return admission_.disk_accepts_puts(); }
  // How much free space the disk has. The caller reports it before each on_committed(), and at
  // least once a turn.
  void on_disk_left(const store::DiskLeft& left);
  // Replies that depend on batches up to `committed` may leave. Batches up to `durable` are synced.
  // Batches that have been written come back with recycle(). `took`: nanoseconds until the last
  // batch was synced; 0 if the mode does not wait for syncs.
  void on_committed(BatchIndex committed, BatchIndex durable, Nanos now, Nanos took = 0);
  void recycle(store::Batch&& batch) { batches_.recycle(std::move(batch)); }
  // The body of this job was found to be lost, though no client asked for it: the job is buried.
  void on_lost_body(JobId job, Nanos now);
  // The body that was read for a job, or why there is none: NotFound or Corruption. An I/O error
  // ends the process and must not be passed here.
  void on_body(JobId job, Result<Body> body, Nanos now);
  // The notes that were read, in any order; perhaps none. Corruption: one of them is damaged. An
  // I/O error ends the process and must not be passed here.
  void on_notes(uint64_t ticket, Result<std::vector<Note>> notes);
  // What was read of ended jobs. An I/O error ends the process and must not be passed here.
  void on_ended(uint64_t ticket, EndedResult&& result, Nanos now) {
    ended_.on_read(ticket, std::move(result), now);
  }

  // ---- What waits to be run: large answers that the memory budget admits now, and connections
  // whose commands may be run and were not. Such a command followed one that has been answered
  // since, came late in a turn, or exceeded run_cost_max.
  bool has_runnable() const {
    return !runnable_.empty() || admission_.may_resume() || large_answers_.may_make() ||
           !to_examine_.empty();
  }
  // Makes the first large answer, or runs commands of the connection that has waited longest,
  // within its run budget. REQUIRES: has_runnable().
  void run_next(Nanos now);

  // ---- What to do.
  // Each read ends with on_body(). A job has at most one read at a time.
  std::vector<BodyRead> take_reads() { return waits_.take_reads(); }
  // Each read ends with on_notes().
  std::vector<NoteRead> take_note_reads() { return notes_.take_reads(); }
  // Reads a page of the jobs that have ended in these tubes, and passes it to `done` later. Nobody
  // is asked whether they may be seen.
  void list_ended_groups(EndedGroupsQuery&& query, EndedDesk::OnGroups done) {
    ended_.list_groups(std::move(query), std::move(done));
  }
  // Each read ends with on_ended().
  std::vector<EndedRead> take_ended_reads() { return ended_.take_reads(); }
  // Whether a batch should go to the log now, provided that the log is idle.
  bool batch_due(Nanos now) const { return batches_.is_due(now, held_.wait_until()); }
  // Whether the next batch is so large that it should not wait for the end of the turn.
  bool batch_is_large() const { return batches_.is_large(); }
  // How many of the clients that the last batch answered have nothing in the open batch yet.
  // Returns 0 also when the open batch should not wait for them: it holds no promised transition,
  // it is large, or sealed batches go before it.
  size_t awaited_clients() const;
  // Seals and returns the next batch. REQUIRES: has_batch(), and all reads were taken.
  store::Batch take_batch(Nanos now);
  bool has_batch() const { return !batches_.empty(); }
  // Replaces `changed` by the connections that have output, whose reading() has changed, or that
  // are finished. Each is listed once.
  void take_changed(std::vector<ConnId>& changed);
  bool has_changed() const { return !changed_.empty(); }
  // Whether answers may leave that on_answers_leave() was not told of. Call it before
  // take_changed(), with the time of the moment and not with that of the turn.
  bool has_answers_to_time() const { return held_.times().has_released(); }
  void on_answers_leave(Nanos now) { held_.times().record(now); }
  // When on_timer() is due. None: core waits for no time.
  std::optional<Nanos> next_deadline() const;
  // The same while the log is busy, when no batch can be appended even if one is due.
  std::optional<Nanos> next_tick() const;

  // Which checkpoints are wanted, and the checkpoint point of each.
  CheckpointCoordinator& checkpoints() { return checkpoints_; }

  bool is_draining() const { return engine_.view().is_draining(); }
  // Whether all transitions are committed, so that no reply waits for a batch.
  bool quiet() const { return batches_.all_committed(); }
  uint64_t jobs_damaged() const;
  // Connections that were closed because they spoke a foreign protocol.
  uint64_t connections_refused() const { return connections_refused_; }
  // Connections that are not read, although their clients may have sent more.
  struct HeldConnections {
    uint64_t output = 0;   // Until they take their answers, or others do.
    uint64_t pending = 0;  // Their put waits until fewer bytes wait for the log.
  };
  HeldConnections held_connections() const {
    return {.output = reading_counts_[static_cast<size_t>(Reading::Output)],
            .pending = reading_counts_[static_cast<size_t>(Reading::Pending)]};
  }
  // Bytes of all batches that are not committed, the open one among them.
  size_t pending_bytes() const { return batches_.pending_bytes(); }
  const AnswerCounts& answer_counts() const { return answer_counts_; }
  // How many ended jobs went before their time or were not kept at all, because the disk was short.
  uint64_t ended_removed_early() const {
    return ended_.removed_early() + engine_.view().ended_not_kept();
  }
  size_t body_cache_bytes() const { return bodies_.bytes(); }
  // How long commands took, by CommandKind.
  const CommandTimes::Histograms& command_times() const { return held_.times().histograms(); }
  // Memory of jobs, bodies and connections, in bytes.
  size_t memory_bytes() const;
  // Bytes of answers of all connections that have not left. A shared body is counted once.
  size_t output_bytes() const { return budget_.used().answers; }
  // Sums up the bytes of all connections anew, and CHECKs that the budget agrees. For tests: it
  // visits every connection.
  void check() const;

 private:
  class BeanstalkSession;
  // Whether a client is read, or why it is not.
  enum class Reading : uint8_t {
    Yes,
    Ended,    // It will send nothing more, or is about to be closed.
    Backlog,  // It has sent more than is read behind a command that is not done.
    Output,   // It has not taken its answers, or all answers together are too many.
    Pending,  // Its put waits for the log.
  };

  void catch_up(Nanos now);
  void end_session(BeanstalkSession& session, Nanos now);
  void handle(BeanstalkSession& conn, wire::Step&& step, Nanos now);
  // `bodies`: those of the jobs that the input puts, in order. They are moved from.
  void apply(engine::Input&& input, std::span<Body> bodies = {});
  // Applies a put that lacks disk or memory, and counts which, if the engine refuses it for that.
  void apply_without_space(engine::Input&& input, std::span<Body> bodies);
  void absorb_transitions(std::span<Body> bodies, Nanos now);
  void absorb_replies(Nanos now);
  void absorb_names_parts();
  void answer(BeanstalkSession& conn, const Reply& reply);
  // `command`: the one that this reply alone answers.
  void answer_job(BeanstalkSession& conn, const JobReply& reply,
                  const std::optional<CommandTimes::Start>& command);
  void answer_jobs(BeanstalkSession& conn, const JobsReserved& reply);
  bool is_shared(size_t body_bytes) const;
  SharedBodies::SharedBody find_shared(const JobReply& reply);
  void fill_slot(const BodyWaiter& waiter, const Body* body);
  void answer_notes(BeanstalkSession& conn, const NotesOf& reply);
  void make_large_answer(Nanos now);
  // Whether the command is about ended jobs; then it is answered, now or later.
  bool serve_ended(BeanstalkSession& conn, const Command& command, Nanos now);
  bool is_of_ended(const ListNotes& notes) const;
  // -- Schedules: core_schedules.cc.
  // Whether the command is about schedules and was answered, because it is none of the engine's.
  bool serve_schedules(BeanstalkSession& conn, const Command& command, Nanos now);
  // Why the schedule may not be set, as far as the engine does not know. None: it may.
  std::optional<Word> refusal_of(const SetSchedule& set, ConnId conn, Nanos now) const;
  ScheduleSeen show_schedule(const engine::EngineView::SeenSchedule& seen) const;
  std::unique_ptr<ScheduleList> list_schedules(const BeanstalkSession& conn,
                                               const ListSchedules& asked);
  // Gives a job that this schedule has put its body, and returns it.
  std::string_view body_of_schedule_job(const JobMoved& moved, const std::string& schedule);
  // What the wall clock shows, and when it must be looked at next. None: nothing goes by it.
  Nanos wall(Nanos now) const;
  std::optional<Nanos> next_look_at_wall() const;
  EndedDesk::Disk ended_disk() const;
  // -- EndedDesk::Queue
  Reply restore(engine::Restore&& job, Body&& body, Nanos now) override;
  void end(engine::EndedOver&& over, Nanos now) override;
  bool allows(ConnId conn, access::Verb verb, std::string_view tube, const Command& command,
              Nanos now) override;
  bool is_open(ConnId conn) const override { return find(conn) != nullptr; }
  void answer(ConnId conn, const Reply& reply, Nanos now) override;
  void answer_body(ConnId conn, const JobReply& reply, Body&& body, Nanos now) override;
  void begin_body(JobId job);
  void rescue_body(JobId job);
  bool must_hold_transitions() const;
  void tick(Nanos now);
  void resume_held_puts(Nanos now);
  void on_checkpoint_asked(BeanstalkSession& conn, const Checkpoint& asked, Nanos now);
  void reply_to(BeanstalkSession& conn, const Reply& reply);
  std::unique_ptr<ClientList> list_clients(const ListClients& asked, Nanos now);
  size_t output_limit() const;
  bool may_run(const BeanstalkSession& conn) const;
  bool is_denied(const BeanstalkSession& conn, const Command& command) const;
  // -- Users: core_users.cc.
  ExtensionSet parsed_extensions(const access::ClientRights& rights) const;
  wire::StatsStyle stats_style() const;
  void begin_sign_in(BeanstalkSession& conn, const access::ClientRights& rights, Nanos now);
  void on_auth(BeanstalkSession& conn, const Auth& auth, Nanos now);
  void on_wrong_token(BeanstalkSession& conn, Nanos now);
  // Whether the command may run. Otherwise it is answered.
  bool is_admitted(BeanstalkSession& conn, Command& command);
  void set_user(BeanstalkSession& conn, const access::User* user);
  // Looks the connection up among the users of now, and closes it if its right is gone.
  void examine(BeanstalkSession& conn);
  void examine_some();
  void on_sign_in_time(Nanos now);
  std::optional<Nanos> sign_in_deadline() const;
  void close_now(BeanstalkSession& conn);
  // Closes one that has not shown who it is, and counts it.
  void refuse_sign_in(BeanstalkSession& conn, access::SignInRefusal why);
  // What the audit is told of the connection.
  access::AuditEvent audit_event(const BeanstalkSession& conn, std::string_view action = {},
                                 std::string subject = {}) const;
  access::AuditEvent audit_event(const BeanstalkSession& conn, const Command& command) const;
  TubeNames visible_to(const BeanstalkSession& conn, const TubeNames& names) const;
  void push_scratch(BeanstalkSession& conn, BatchIndex after);
  void touch(BeanstalkSession& conn);
  void after_progress(BeanstalkSession& conn);
  void make_runnable(BeanstalkSession& conn);
  BeanstalkSession* find(ConnId conn) const;

  const Options options_;
  engine::Engine engine_;
  engine::Output output_;
  MemoryBudget budget_;  // Of everything but the engine.
  SharedBodies shared_bodies_;
  BodyCache bodies_;
  BodyWaits waits_;
  NoteWaits notes_;
  bool notes_allowed_ = true;
  bool ended_allowed_ = true;
  bool schedules_allowed_ = true;
  ScheduleBodies schedule_bodies_{budget_};
  Nanos ticked_at_ = 0;  // When the engine last had a Tick.
  // By Reading: how many sessions have said it last.
  std::array<uint64_t, 5> reading_counts_ = {};
  absl::flat_hash_map<ConnId, std::unique_ptr<BeanstalkSession>> sessions_;
  RunBudget run_budget_;
  Nanos caught_up_ = 0;  // The time for which catch_up() last ran, or on_timer().

  BatchQueue batches_;
  HeldReplies held_;
  PutAdmission admission_;
  // The batch that was open when a tick last left transitions for a later turn.
  BatchIndex transitions_left_in_ = 0;
  CheckpointCoordinator checkpoints_;
  EndedDesk ended_{engine_.view(), *this};

  std::vector<ConnId> changed_;
  std::deque<ConnId> runnable_;  // Connections with commands to run. The first has waited longest.
  LargeAnswers large_answers_;
  uint64_t connections_refused_ = 0;

  access::Gate gate_{options_.audit};
  std::deque<ConnId> to_examine_;
  common::Newcomers unidentified_{options_.unidentified};
  access::DueConns sign_in_due_{access::sign_in_time};
  access::DueConns wrong_token_due_{access::wrong_token_delay};
  AnswerCounts answer_counts_;
  static constexpr size_t scratch_bytes_max = 1 << 20;
  std::string scratch_;  // The reply that is being formatted.
};

}  // namespace perennial::core
