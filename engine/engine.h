#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/conn.h"
#include "engine/cost.h"
#include "engine/heap.h"
#include "engine/image.h"
#include "engine/input.h"
#include "engine/job_pool.h"
#include "engine/listing.h"
#include "engine/tube.h"
#include "engine/tubes_by_name.h"
#include "engine/types/id_map.h"
#include "engine/types/status.h"

namespace perennial::engine {

// The job-state machine: every rule of the protocol about jobs, tubes and connections, and nothing
// else. It has no clock, thread, file, socket or chance in it: the same inputs give the same
// outputs.
//
// Owns all jobs, tubes and connections, as it knows them. Never holds the bytes of a body.
//
// Invariants: a job is in exactly one heap, that of its state. No tube that is not paused has both
// a ready job and a waiting connection. The cost of an input grows with the logarithm of what there
// is, with the tubes that the connections watch that it concerns, and with the jobs it moves. What
// may concern many, or move many, goes on over several turns, each of which ends soon after
// moves_per_turn_max or cost_per_turn_max. A turn is all inputs of the same time, up to the next
// Tick.
class Engine {
 public:
  explicit Engine(const Limits& limits);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Decides. Appends to `out`. REQUIRES: now is not before that of any input before; a connection
  // is Opened before, and not after it is Closed; none has two commands unanswered; no Quit
  // and no Checkpoint.
  void apply(const Input& input, Output& out);

  // When a Tick is due, or one that does not go on; none while nothing waits for time. A time in
  // the past: at once.
  std::optional<Nanos> next_deadline(bool go_on = true) const;

  // ---- Start. Before the first apply(): all tubes, then pauses and jobs in any order, then
  // finish_restore(). Each is refused with Corruption when it contradicts what was there before.
  Status restore_tube(TubeId tube, std::string_view name);
  Status restore_pause(const TubePaused& pause, Nanos now);
  // A reserved job stays reserved, by nobody, until the Ticks after finish_restore() make it ready.
  Status restore_job(const JobRow& row, Nanos now);
  // `next_id`: no id at or above it was ever given out. Ends the tubes that hold no job: a restart
  // counts as every client leaving.
  Status finish_restore(JobId next_id, Output& out);

  // ---- What it holds.
  JobId next_id() const { return next_id_; }
  size_t job_count() const { return jobs_.size(); }
  StateCounts state_counts() const { return counts_; }
  uint64_t jobs_damaged() const { return jobs_damaged_; }
  // How long the answers to list-tubes and list-tubes-watched would be.
  NamesSize tubes_size() const { return {tube_list_.size(), name_bytes_}; }
  NamesSize watched_size(ConnId conn) const;
  // About, in bytes.
  size_t memory_bytes() const;
  // About how many bytes a command has in its answer that lists tubes; of any other 0.
  size_t listed_bytes(ConnId conn, const Command& command) const;
  Image image() const;
  // Recounts everything from scratch and stops the process at the first difference. For tests.
  void check() const;

 private:
  struct Visitor;

  // -- One function per event and per command; commands that answer are given their connection.
  // A command's is an overload of run(): what wants one of the table has to define it.
  void on_opened(ConnId conn);
  void on_closed(Conn& conn);
  void on_half_closed(Conn& conn);
  void on_tick(const Tick& tick);
  void on_damaged(JobId id);
  void run(Conn& conn, const Put& put);
  void run(Conn& conn, const PutTooBig& put);
  void run(Conn& conn, const PutTrailingJunk& put);
  void run(Conn& conn, const PutNoCrlf& put);
  void run(Conn& conn, const Peek& peek);
  void run(Conn& conn, const PeekReady& peek);
  void run(Conn& conn, const PeekDelayed& peek);
  void run(Conn& conn, const PeekBuried& peek);
  void run(Conn& conn, const Reserve& reserve);
  void run(Conn& conn, const ReserveWithTimeout& reserve);
  void run(Conn& conn, const ReserveJob& reserve);
  void run(Conn& conn, const Delete& command);
  void run(Conn& conn, const Release& release);
  void run(Conn& conn, const Use& use);
  void run(Conn& conn, const Watch& watch);
  void run(Conn& conn, const Ignore& ignore);
  void run(Conn& conn, const Bury& command);
  void run(Conn& conn, const Kick& kick);
  void run(Conn& conn, const KickJob& kick);
  void run(Conn& conn, const Touch& touch);
  void run(Conn& conn, const Stats& stats);
  void run(Conn& conn, const StatsJob& stats);
  void run(Conn& conn, const StatsTube& stats);
  void run(Conn& conn, const ListTubes& list);
  void run(Conn& conn, const ListTubeUsed& list);
  void run(Conn& conn, const ListTubesWatched& list);
  void run(Conn& conn, const PauseTube& pause);
  void run(Conn& conn, const Malformed& malformed);
  void wait_or_reserve(Conn& conn, std::optional<uint32_t> timeout_s);
  void answer_found(Conn& conn, const Job* job);

  // -- Jobs.
  Job* find_job(JobId id);
  // The job, if this connection holds it.
  Job* find_reserved(const Conn& conn, JobId id);
  // The one place that edits heaps, counters and transitions of a job that is there. `order`
  // becomes the job's: a deadline, a bury sequence, or 0.
  void move(Job& job, JobState to, uint64_t order, bool promised);
  void move_to_ready(Job& job, bool promised);
  void bury(Job& job, bool promised);
  void leave(Job& job);
  void enter(Job& job);
  void count(const Job& job, int64_t by);
  void make_producer(Conn& conn);
  JobId take_id();
  void reserve(Conn& conn, Job& job);
  // Gives the ready job on top to the connection that has waited longest: hand_out() if the tube
  // has both and is not paused, serve() without asking.
  void hand_out(Tube& tube);
  void serve(Tube& tube);
  bool turn_is_over() const { return moves_ >= limits_.moves_per_turn_max || cost_is_spent(); }
  // What moves no job looks at this only, and need not wait for the disk.
  bool cost_is_spent() const { return cost_ >= limits_.cost_per_turn_max; }

  // -- Connections.
  Conn& conn_of(ConnId id);
  const Conn& conn_of(ConnId id) const { return const_cast<Engine*>(this)->conn_of(id); }
  void start_waiting(Conn& conn, std::optional<Nanos> until);
  void stop_waiting(Conn& conn);
  // Puts the connection's next deadline into the heap of connections.
  void schedule(Conn& conn);
  bool deadline_soon(const Conn& conn) const;
  Job* best_ready(const Conn& conn);
  void leave_next_tube(Conn& conn);
  void set_using(Conn& conn, Tube& tube);
  void add_watch(Conn& conn, Tube& tube);
  // `link` is one of its own.
  void drop_watch(Conn& conn, Tube& tube);

  // -- Long operations: long_operation.h says what each function does.
  void start(Conn& conn, LongOperation operation);
  void go_on(Conn& conn);
  // The connection is closed: its operation, if it has one, ends where it is.
  void abandon(Conn& conn);
  void give_back_later(Conn& conn);
  void time_out(Conn& conn);
  template <typename Operation>
  bool advance(Operation& operation);
  static bool begin(const OperationState& /*operation*/) { return true; }
  static void suspend(const OperationState& /*operation*/) {}
  bool begin(Kicking& kick);
  Job* next(const Kicking& kick);
  void step(Kicking& kick, Job& job);
  void suspend(Kicking& kick);
  void finish(const Kicking& kick);
  void release_split(const Kicking& kick);
  static Job* next(const GivingBack& closed);
  void step(const GivingBack& closed, Job& job);
  void finish(const GivingBack& closed);
  Job* next(const TimingOut& reservations);
  Job* next(const EndingDelays& delays);
  void step(const TimingOut& reservations, Job& job);
  void step(const EndingDelays& delays, Job& job);

  // -- Tubes.
  Tube& tube_of(TubeId id) { return *tubes_[id]; }
  const Tube& tube_of(TubeId id) const { return *tubes_[id]; }
  Tube* find_tube(std::string_view name);
  // The tube of that name, made if need be; none when there are too many.
  Tube* take_tube(std::string_view name);
  Tube& make_tube(TubeId id, std::string_view name);
  TubeId take_tube_id();
  // Gives it a row, if it has none.
  void store_tube(Tube& tube);
  // Ends it, if nothing refers to it any more.
  void end_if_unused(Tube& tube);
  void end_pause(Tube& tube);
  void schedule_delayed(Tube& tube);
  void note_ready(const Tube& tube) { has_ready_[tube.id] = !tube.paused() && !tube.ready.empty(); }

  // -- Listings in parts.
  void list(ConnId asker, ConnId watcher);
  bool is_listing() const { return !listings_.empty() && listings_.front().begun; }
  void begin(Listing& listing);
  void give_part(Listing& listing);

  // -- Tick, in its order.
  void tick_delayed();
  void tick_pauses();
  void tick_conns();
  void tick_conn(Conn& conn);
  void tick_leaving();
  void tick_left_over();
  void tick_listings();

  void answer(const Conn& conn, Reply reply);

  // -- For check().
  void check_jobs() const;
  void check_tubes() const;
  void check_conns() const;
  bool is_in_its_heap(const Job& job) const;

  const Limits limits_;

  JobPool pool_;
  IdMap<Job*> jobs_;
  JobId next_id_ = 1;
  JobId id_limit_ = 1;  // The last NextIdRaised.
  uint64_t next_bury_order_ = 1;

  std::vector<std::unique_ptr<Tube>> tubes_;  // By id; freed ids are empty.
  std::priority_queue<TubeId, std::vector<TubeId>, std::greater<>> free_tube_ids_;
  TubesByName tubes_by_name_;
  // protocol.txt, "list-tubes", in beanstalkd's order: by creation, and the last one takes the
  // place of one that ends.
  std::vector<Tube*> tube_list_;
  size_t name_bytes_ = 0;  // Of their names.
  // By id: whether a job may be reserved from it. A bit each, so that a connection that watches
  // very many tubes finds the few that count.
  std::vector<bool> has_ready_;
  IndexedHeap<Tube, &Tube::delayed_index> tubes_by_delay_;  // Their soonest delayed job.
  IndexedHeap<Tube, &Tube::pause_index> tubes_by_pause_;    // The ends of their pauses.

  absl::flat_hash_map<ConnId, std::unique_ptr<Conn>> conns_;
  IndexedHeap<Conn, &Conn::deadline_index> conns_by_deadline_;
  size_t watched_bytes_ = 0;  // Of the watch lists of all of them.
  // Connections whose operation did not fit into a turn, oldest first.
  std::vector<ConnId> left_over_;
  std::deque<ConnId> leaving_;                      // Closing connections that have tubes to leave.
  std::deque<Listing> listings_;                    // The first may have begun.
  std::vector<ConnId> list_askers_;                 // Of the listing of all that has not begun.
  std::vector<std::unique_ptr<Tube>> ended_tubes_;  // While a listing is made that may name them.

  bool draining_ = false;
  StateCounts counts_;
  CommandCounts commands_;
  uint64_t job_timeouts_ = 0;
  uint64_t total_jobs_ = 0;
  uint64_t connections_ = 0;
  uint64_t producers_ = 0;
  uint64_t workers_ = 0;
  uint64_t waiting_ = 0;
  uint64_t total_connections_ = 0;
  uint64_t jobs_damaged_ = 0;

  // Of the input being applied.
  Nanos now_ = 0;
  bool room_ = true;
  uint32_t moves_ = 0;  // And of those before it in its turn.
  uint64_t cost_ = 0;   // Likewise, without that of moves.
  Output* out_ = nullptr;
};

}  // namespace perennial::engine
