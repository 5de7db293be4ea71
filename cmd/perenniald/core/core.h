#pragma once

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
#include "cmd/perenniald/core/batch_queue.h"
#include "cmd/perenniald/core/body_cache.h"
#include "cmd/perenniald/core/body_loans.h"
#include "cmd/perenniald/core/body_waits.h"
#include "cmd/perenniald/core/checkpoint_requests.h"
#include "cmd/perenniald/core/held_replies.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/put_room.h"
#include "cmd/perenniald/core/session.h"
#include "engine/engine.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/types/options.h"
#include "wire/format.h"
#include "wire/parser.h"

namespace perennial::core {

// All in bytes but the last few. Their meaning, and what is past each: README.md, "Limits".
struct Options {
  engine::Limits engine = {};
  uint32_t job_bytes_max = 65'535;
  size_t pipeline_bytes_max = 64 << 10;
  size_t output_bytes_max = 4 << 20;
  size_t output_total_bytes_max = 256 << 20;
  // Less than this each may hold, whatever the others do; an answer of more is a large one.
  size_t output_little_bytes = 64 << 10;
  size_t pending_bytes_max = 64 << 20;
  size_t batch_bytes_max = 4 << 20;
  size_t body_cache_bytes = 64 << 20;
  size_t memory_bytes_max = 0;  // 0: none.
  // Bodies that are being read, past which a connection that waits for one may not ask for more.
  size_t reads_max = 256;
  // What the commands of one connection may cost, about ten nanoseconds each, before others are
  // run and somebody looks at the time. The last of them may cost more.
  uint64_t run_cost_max = 100'000;
  // Temporary checkpoints, those that are waited for among them: each holds on to the files that
  // the database had when it was cut.
  size_t temporary_checkpoints_max = 16;
  // How long transitions that nobody was promised may wait for company before they are written.
  Nanos sync_idle = 100 * nanos_per_ms;
  // Asked when a client asks for stats.
  std::function<ProcessFacts()> process_facts = {};
  std::function<StoreFacts()> store_facts = {};
};

// Joins parser, engine, outboxes and the open batch, without a socket, a clock or a thread: whoever
// owns the loop feeds it what happened and carries away what it made. Everything happens on one
// thread.
//
// One turn of the loop is any number of on_... calls, and then, in this order:
//   run_next()      while has_runnable(), or until the turn is long;
//   take_reads()    read each body as the database is now: a later batch may delete it;
//   take_cut()      after settle_cut(): its place in the log is behind the last batch taken;
//   take_batch()    if the log is idle and batch_due(): append it;
//   take_changed()  for each connection there: write output(), then see reading() and finished();
//   next_deadline() arm the timer: on_timer() is due then.
// While batch_is_large(), the three from take_reads() to take_batch() may also come between two
// on_... or run_next() calls. take_changed() may come before take_batch() as well: some answers
// wait for no batch.
//
// Invariants: a reply leaves in the order of the commands of its connection, and not before every
// batch that it could tell of is answerable (RESERVED tells of one job, all others of anything); a
// command behind an unanswered one of its connection is not run.
class Core {
 public:
  explicit Core(Options options);
  ~Core();

  // ---- Start. The store restores tubes, pauses and jobs into the engine; then resume() goes on
  // from the index of the last batch on disk, in a new epoch. Until settled(), serve nobody:
  // on_timer() brings what a crash left (reserved jobs become ready) up to date in steps.
  engine::Engine& engine() { return engine_; }
  void resume(uint64_t epoch, BatchIndex last_index, JobId next_id, Nanos now);
  bool settled(Nanos now) const;

  // ---- What happened. `now` never goes back.
  // A client has come. `may_checkpoint`: whether it may ask for checkpoints. To all others
  // `checkpoint` is an unknown command. The session is core's, and ends with its on_close().
  Session& open(ConnId conn, Nanos now, bool may_checkpoint = false);
  // Null: it has ended.
  Session* session(ConnId conn) const;
  void on_timer(Nanos now);
  void on_drain(Nanos now);
  // Whether the disk has room for more jobs.
  void on_room(bool room, Nanos now);
  // Whether the store is behind with its own work: then puts wait, and nothing else does.
  void on_behind(bool behind, Nanos now);
  bool disk_has_room() const { return room_.disk_has_room(); }
  // How much of it there is. To be told before each on_durable(), and every now and then.
  void on_disk_left(const store::DiskLeft& left) { room_.on_disk_left(left); }
  // Every batch up to `answerable` may be spoken of; every batch up to `durable` is synced. Batches
  // that have been written come back with recycle(). `took`: how long the last one took until it
  // was synced; 0 if nobody waits for syncs.
  void on_durable(BatchIndex answerable, BatchIndex durable, Nanos now, Nanos took = 0);
  void recycle(store::Batch&& batch) { batches_.recycle(std::move(batch)); }
  // The body that was read of a job, or why there is none: NotFound or Corruption. (An I/O error
  // ends the process; it must not come here.)
  void on_body(JobId job, Result<Body> body, Nanos now);

  // ---- Whose turn it is. Large answers for which there is room now; and connections with commands
  // that may be run, and were not: they are behind one that has been answered since, came late in a
  // turn, or had enough of it: run_cost_max.
  bool has_runnable() const {
    return !runnable_.empty() || may_resume_puts() || may_make_large_answer();
  }
  // Makes the one, or runs what there is of the other that has waited longest, or a part of it.
  // REQUIRES:
  // has_runnable().
  void run_next(Nanos now);

  // ---- What to do.
  // Each ends with on_body(); no job has two at a time.
  std::vector<BodyRead> take_reads() { return waits_.take_reads(); }
  // Whether a batch should go to the log now, if that is idle.
  bool batch_due(Nanos now) const { return batches_.is_due(now, held_.wait_until()); }
  // Whether the next batch has become so large that it should not wait for the end of the turn.
  bool batch_is_large() const { return batches_.is_large(); }
  // Of the clients that the last batch answered, how many have nothing in the open batch yet. 0
  // also when that should not wait for them: there is none, or it is large, or others are before
  // it.
  size_t missing_company() const;
  // The next batch, sealed. REQUIRES: there is one (has_batch()), and no read is left to take.
  store::Batch take_batch(Nanos now);
  bool has_batch() const { return !batches_.empty(); }
  // The connections that have output, or should be read again or no longer, or closed. Each once.
  void take_changed(std::vector<ConnId>& changed);
  bool has_changed() const { return !changed_.empty(); }
  // When on_timer() is due. None: no time is waited for.
  std::optional<Nanos> next_deadline() const;
  // The same while the log is busy, when no batch can go, however long it is due.
  std::optional<Nanos> next_tick() const;

  // ---- Checkpoints: checkpoint_requests.h.
  // Asks for one on nobody's behalf: the schedule's.
  void want_checkpoint() { checkpoints_.want(); }
  // If one is wanted and none is being made, settles what it holds: all that has happened. From
  // then on it counts as being made. REQUIRES: what the last take_cut() gave is cut.
  void settle_cut(Nanos now);
  // The cut that is due between the last batch taken and the next. Given once.
  std::optional<Cut> take_cut();
  // What became of it: a CheckpointMade or CheckpointFailed for those who asked. REQUIRES: a cut
  // was taken that is not temporary, and this was not called since.
  void on_checkpoint(const Reply& answer);
  // The same of a temporary cut.
  void on_temporary_checkpoint(const Reply& answer);
  // All temporary ones, because every connection ends.
  void give_up_temporaries() { checkpoints_.give_up_all(); }
  // Paths of temporary checkpoints that are to be removed now: they belong to nobody any more.
  std::vector<std::string> take_given_up() { return checkpoints_.take_given_up(); }
  // Answers all who wait for one with this failure, and from here on all who ask. One whose cut was
  // taken still ends with on_checkpoint().
  void refuse_checkpoints(const std::string& reason);

  // Whether anything is held for batches that are not answerable yet.
  bool quiet() const { return batches_.is_settled(); }
  uint64_t jobs_damaged() const;
  // Jobs, bodies, and all that connections hold.
  size_t memory_bytes() const;
  // Answers of all connections that have not left; a body that several share is one.
  size_t output_bytes() const { return budget_.used().answers; }
  // Counts the connections' bytes anew, and compares. For tests: it looks at all of them.
  void check() const;

 private:
  class BeanstalkSession;

  void catch_up(Nanos now);
  void end_session(BeanstalkSession& session, Nanos now);
  void handle(BeanstalkSession& conn, wire::Step&& step, Nanos now);
  void apply(engine::Input&& input, Body&& body);
  void absorb_transitions(Body&& body, Nanos now);
  void absorb_replies();
  void absorb_names_parts();
  void answer(BeanstalkSession& conn, const Reply& reply);
  void answer_job(BeanstalkSession& conn, const JobReply& reply, BatchIndex after);
  bool is_shared(size_t body_bytes) const;
  BodyLoans::Loan borrow(const JobReply& reply);
  void fill_slot(const BodyWaiter& waiter, const Body* body);
  bool must_queue(size_t answer_bytes) const;
  bool may_make_large_answer() const;
  void make_large_answer(Nanos now);
  void begin_body(JobId job);
  void rescue_body(JobId job);
  void drop_large_answers(const BeanstalkSession& conn);
  bool must_hold_moves() const;
  void tick(Nanos now);
  void resume_held_puts(Nanos now);
  bool may_resume_puts() const;
  void on_checkpoint_asked(BeanstalkSession& conn, const Checkpoint& asked, Nanos now);
  void reply_to(BeanstalkSession& conn, const Reply& reply);
  void reply_to(std::vector<ConnId>&& conns, const Reply& reply);
  size_t output_limit() const;
  bool may_run(const BeanstalkSession& conn) const;
  void push_scratch(BeanstalkSession& conn, BatchIndex after);
  void touch(BeanstalkSession& conn);
  void after_progress(BeanstalkSession& conn);
  void make_runnable(BeanstalkSession& conn);
  BeanstalkSession* find(ConnId conn) const;

  const Options options_;
  engine::Engine engine_;
  engine::Output output_;
  MemoryBudget budget_;  // Of all but the engine.
  BodyLoans loans_;
  BodyCache bodies_;
  BodyWaits waits_;
  absl::flat_hash_map<ConnId, std::unique_ptr<BeanstalkSession>> sessions_;
  uint64_t spent_ = 0;   // What all that was run has cost: Options::run_cost_max.
  Nanos caught_up_ = 0;  // The turn in which what was due was last looked at.

  BatchQueue batches_;
  HeldReplies held_;
  PutRoom room_;
  // Open when the last Tick that went on had to leave some for later.
  BatchIndex moves_left_in_ = 0;
  CheckpointRequests checkpoints_;

  std::vector<ConnId> changed_;
  std::deque<ConnId> runnable_;   // Those with something to be run, by how long they have waited.
  std::deque<ConnId> held_puts_;  // In the order in which they came.
  // An answer that may be large by itself, and for which there is no room yet: of a body, in
  // waits_, or to a command that lists and has not been run.
  struct LargeAnswer {
    size_t bytes;  // About.
    JobId job = 0;
    ConnId conn = 0;
    std::optional<Command> command = {};
  };
  std::deque<LargeAnswer> large_answers_;  // In the order in which they were asked for.
  uint64_t connections_refused_ = 0;
  // What a command costs in parser, core and engine, beside what Output::cost and its reply say,
  // and what its bytes do.
  static constexpr uint64_t command_cost = 60;
  static constexpr size_t scratch_bytes_max = 1 << 20;
  std::string scratch_;  // The reply that is being made.
};

}  // namespace perennial::core
