#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "engine/conn.h"
#include "engine/heap.h"
#include "engine/job_pool.h"
#include "engine/kept_buckets.h"
#include "engine/key_table.h"
#include "engine/listing.h"
#include "engine/measured_tubes.h"
#include "engine/tables/turn.h"
#include "engine/tube.h"
#include "engine/tubes_by_name.h"
#include "engine/types/id_map.h"
#include "engine/types/image.h"
#include "engine/types/input.h"
#include "engine/types/status.h"
#include "engine/view/engine_view.h"

namespace perennial::engine {

// All jobs and tubes, and what the engine knows of each connection: what is behind Engine and
// EngineView. Only the sources of this folder include it.
class State {
 public:
  explicit State(const Limits& limits);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // As those of Engine.
  void apply(const Input& input, Output& out);
  std::optional<Nanos> next_deadline(bool go_on) const;
  Status restore_tube(TubeId tube, std::string_view name);
  Status restore_pause(const TubePaused& pause, Nanos now);
  Status restore_job(const JobRow& row, Nanos now);
  Status restore_key(const KeyStored& key, Nanos now);
  Status restore_settings(const SettingsStored& settings);
  Status finish_restore(JobId next_id, Nanos now, Output& out);
  EngineView view() const { return EngineView(*this); }
  Image image() const;
  void check() const;

 private:
  friend class EngineView;

  struct Visitor;

  // -- One function per event and per command. The function of a command is an overload of run(),
  // so a command in the table without one does not compile. Functions that answer take the
  // connection.
  void on_opened(ConnId conn, const Opened& opened);
  void on_closed(Conn& conn, const Closed& closed);
  void on_half_closed(Conn& conn);
  void on_wait_aborted(Conn& conn);
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
  void run(Conn& conn, const PeekReserved& peek);
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
  void run(Conn& conn, const PutBatch& batch);
  // `tubes`: that of each item.
  void put_items(Conn& conn, const PutBatch& batch, std::span<Tube* const> tubes);
  void run(Conn& conn, const PutBatchRefused& batch);
  void run(Conn& conn, const ReserveBatch& reserve);
  void run(Conn& conn, const DeleteBatch& batch);
  void run(Conn& conn, const TouchBatch& batch);
  void run(Conn& conn, const FlushTube& flush);
  void run(Conn& conn, const ListJobs& list);
  void run(Conn& conn, const SetJob& set);
  void run(Conn& conn, const SetTube& set);
  void run(Conn& conn, const MoveTube& move);
  void run(Conn& conn, const KickTube& kick);
  void run(Conn& conn, const SetReserveMode& set);
  void run(Conn& conn, const Drain& drain);
  void run(Conn& conn, const Undrain& undrain);
  void run(Conn& conn, const Malformed& malformed);
  // How a reservation waits, and what its reply tells.
  struct Wait {
    std::optional<Nanos> timeout;  // Without a value the wait has no end.
    JobFacts with = {};
    uint32_t batch = 0;  // As Conn::wait_batch.
  };
  void wait_or_reserve(Conn& conn, const Wait& wait);
  void answer_found(Conn& conn, const Job* job, const JobFacts& with);
  JobReply job_reply(Word word, const Job& job, const JobFacts& with) const;
  JobStats stats_of(const Job& job) const;
  TubeStats stats_of(const Tube& tube) const;
  JobStats::More more_of(const Job& job) const;
  template <typename Visit>
  void for_each_in(const Tube& tube, StateSet states, Visit visit) const;
  uint32_t list_few(const Tube& tube, const ListJobs& list, JobList& found) const;
  const Job* holder_of(std::string_view tube, std::string_view key) const;

  // -- Jobs.
  Job* find_job(JobId id);
  // Returns the job if this connection has reserved it, otherwise null.
  Job* find_reserved(const Conn& conn, JobId id);
  // Returns the job if this connection may delete or change it: nobody else has reserved it.
  Job* find_free(const Conn& conn, JobId id);
  // The name of the tube that a put goes to.
  const std::string& put_tube(const Conn& conn, const std::string& batch_tube,
                              const Put& put) const;
  bool is_draining(std::string_view tube) const;
  // Why a put into the tube is refused, as far as that is known before the tube is made.
  std::optional<PutRefusal> put_refusal(std::string_view tube, size_t jobs, size_t keys) const;
  // Counts and answers it.
  void refuse_put(const Conn& conn, PutRefusal why);
  JobId add_job(Tube& tube, const Put& put);
  // What becomes of the key of a job that leaves.
  enum class KeyEnd : uint8_t { Cooldown, Free };
  // Deletes the job. The caller ends its tube if that is unused then.
  void remove(Job& job, KeyEnd key_end, bool promised);
  bool remove_for(Conn& conn, JobId id);
  bool touch(Conn& conn, JobId id, Nanos left);
  JobRow row_of(const Job& job) const;
  static Nanos deadline_margin(Nanos ttr);
  // The delay and the ttr, with what is below a second.
  Nanos delay_of(const Job& job) const;
  Nanos ttr_of(const Job& job) const;
  void set_delay(Job& job, Nanos delay);
  void set_ttr(Job& job, Nanos ttr);
  // Moves the job to another tube, which is stored. Frees its key, whose scope is the tube.
  void put_into(Job& job, Tube& to);

  // Whether the job counts as ready since its put, unless its row says otherwise.
  bool is_ready_since_put(const Job& job) const;
  Nanos since_restored(const Job& job, Nanos now) const;

  // -- Optional fields. Null: the job has none.
  JobFields* fields_of(const Job& job) { return job.has_fields ? *fields_.find(job.id) : nullptr; }
  const JobFields* fields_of(const Job& job) const {
    return const_cast<State*>(this)->fields_of(job);
  }
  JobFields& make_fields(Job& job);
  // Drops the fields if none of them is set.
  void drop_empty_fields(Job& job);
  void drop_fields(Job& job);
  void set_fields(Job& job, const PutOptions& options, const Tube& tube);

  // -- The end of an attempt. attempts.cc
  // What becomes of a job that comes back.
  struct Return {
    enum class To : uint8_t { Ready, Delayed, Dead, Expired } to;
    Nanos delay = 0;
  };
  // Counts the attempt if it `counts`. `delay`: the one that was asked for.
  Return end_attempt(Job& job, bool counts, Nanos delay);
  void give_back(Job& job, const Return& how, bool promised);
  void kicked(Job& job);
  void die(Job& job, bool promised);
  void expire(Job& job);
  // Moves a job that is dead or has expired. Returns false if no tube for it can be had.
  bool move_to_dead_tube(Job& job, bool promised);
  uint32_t tries_of(const Job& job) const;
  Backoff backoff_of(const Job& job) const;
  const std::string& dead_tube_of(const Job& job) const;
  void tick_expiries();
  Job* next(const Expiring& jobs);
  void step(const Expiring& jobs, Job& job);

  // -- Keys. keys.cc
  // The entry of a key that is not free now.
  const KeyTable::Entry* taken_key(std::string_view tube, std::string_view key) const;
  // Returns the job that has the key of the put, if there is one, and counts it.
  std::optional<Duplicate> find_duplicate(const std::string& tube, const Put& put);
  void hold_key(const Job& job);
  void end_key(Job& job, KeyEnd key_end);
  void give_up_key(Job& job);
  void store_key(const std::string& tube, const std::string& key, const KeyTable::Entry& entry);
  void free_key(const std::string& tube, const std::string& key);
  void tick_keys();
  // Corruption: a key that is held has no job, or a job does not hold its key.
  Status check_restored_keys();

  // -- Concurrency keys.
  // Null: the job has none.
  const ConcurrencyKey* concurrency_of(const Job& job) const;
  // Adds the job, which is ready or reserved, to the groups of its tube, or removes it.
  void enter_group(Tube& tube, Job& job, const ConcurrencyKey& key);
  void leave_group(Tube& tube, Job& job, const ConcurrencyKey& key);
  bool is_parked(const Job& job) const;

  // -- Settings. settings.cc
  TubeSettings settings_of(std::string_view tube) const;
  void apply_settings(Tube& tube);
  // The bucket of a tube that begins, and of one that ends.
  void find_bucket(Tube& tube);
  void keep_bucket(const Tube& tube);
  // All buckets that were there at the restart are empty.
  void empty_buckets();
  void take_from_rate(Tube& tube);
  void refill_later(Tube& tube);
  void tick_rates();
  // A reservation has ended: its tube may be below its limit now. Or a job has made way for others
  // of its concurrency key.
  void on_slot_freed(const Tube& tube);
  void serve_freed_slots();
  // The one place that edits heaps, counters and transitions of an existing job that stays. `edit`
  // changes the job, which is in no heap meanwhile.
  template <typename Edit>
  void change(Job& job, bool promised, Edit edit) {
    const JobState before = job.state;
    const Nanos since = leave(job);
    edit();
    enter(job, job.state == before ? since : turn_.now());
    turn_.emit_counted(JobMoved{job.id, before, row_of(job), promised});
  }
  // `order` becomes the job's order: a deadline, a bury sequence, or 0 for a ready job, whose order
  // enter() sets.
  void move(Job& job, JobState to, uint64_t order, bool promised);
  // Makes the job ready in another tube, which is stored.
  void move_to_tube(Job& job, Tube& to, bool promised);
  static bool allows(const SetJob& set, const Job& job);
  void edit(Job& job, const SetJob& set, Tube* to);
  // When the job expires while it is in its state; 0: never.
  Nanos expiry_of(const Job& job) const;
  void move_to_ready(Job& job, bool promised);
  void bury(Job& job, bool promised);
  // Returns since when the job was in its state, if it was ready or reserved.
  Nanos leave(Job& job);
  void enter(Job& job, Nanos since);
  // The job is about to leave its connection if it is reserved.
  void end_run(const Job& job, RunEnd how);
  void count(const Job& job, int64_t by);
  void make_producer(Conn& conn);
  void make_worker(Conn& conn);
  JobId take_id();
  void reserve(Conn& conn, Job& job);
  bool has_expired(const Job& job) const;
  // serve() gives the first ready job to the connection that has waited longest, or the first jobs
  // to one that waits for a batch. It requires a ready job and a waiting connection. hand_out()
  // serves until the tube lacks one of them, unless it is paused.
  void hand_out(Tube& tube);
  void serve(Tube& tube);
  // `served`: the tube that is being served, which may be a paused one whose pause is about to end.
  std::unique_ptr<JobsReserved> reserve_batch(Conn& conn, uint32_t count, const JobFacts& with,
                                              const Tube* served = nullptr);

  // -- Connections.
  Conn& conn_of(ConnId id);
  const Conn& conn_of(ConnId id) const { return const_cast<State*>(this)->conn_of(id); }
  void start_waiting(Conn& conn, const Wait& wait);
  void stop_waiting(Conn& conn);
  // Ends the wait without a job.
  void end_wait(Conn& conn);
  void answer_no_job(const Conn& conn, bool is_batch);
  // Puts the connection's next deadline into the heap of connections.
  void schedule(Conn& conn);
  bool deadline_soon(const Conn& conn) const;
  // Returns the job that the connection may reserve next, or null.
  Job* best_ready(Conn& conn);
  // A tube with a job that may be reserved, and its place among the watched tubes.
  struct Choice {
    Tube* tube = nullptr;
    uint32_t place = 0;
  };
  // Whether the connection is to be served from `one`, and not from `other`.
  static bool comes_before(const Conn& conn, const Choice& one, const Choice& other);
  // Called before a choice by weight. `served`: as in reserve_batch().
  void begin_choice(Conn& conn, const Tube* served);
  // Called when the connection gets a job because it asked for any.
  void count_share(Conn& conn, TubeId tube);
  void leave_next_tube(Conn& conn);
  void set_using(Conn& conn, Tube& tube);
  void add_watch(Conn& conn, Tube& tube);
  // REQUIRES: the connection watches the tube.
  void remove_watch(Conn& conn, Tube& tube);

  // -- Long operations. long_operation.h describes each function.
  void start(Conn& conn, LongOperation operation);
  void go_on(Conn& conn);
  // Ends the operation of a closing connection where it is, if there is one.
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
  Job* next(Flushing& flush);
  bool begin(Flushing& flush);
  bool begin(Moving& move);
  bool begin(KickingTube& kick);
  Job* next(Walk& walk);
  Job* next(Moving& move);
  Job* next(KickingTube& kick);
  void step(Flushing& flush, Job& job);
  void step(Moving& move, Job& job);
  void step(KickingTube& kick, Job& job);
  void finish(const Flushing& flush);
  void finish(const Moving& move);
  void finish(const KickingTube& kick);
  // The operation that a command begins with the jobs of this tube.
  template <typename Operation, typename C>
  Operation walk_of(Conn& conn, const std::string& tube, StateSet states, const C& command) const;
  // Whether the numbers of a job are wanted at this time.
  static bool is_matched(const Job& job, const JobMatch& match, Nanos now);
  static bool has_any(const Tube& tube, StateSet states);
  Job* next(const TimingOut& reservations);
  Job* next(const EndingDelays& delays);
  void step(const TimingOut& reservations, Job& job);
  void step(const EndingDelays& delays, Job& job);

  // -- Tubes.
  Tube& tube_of(TubeId id) { return *tubes_[id]; }
  const Tube& tube_of(TubeId id) const { return *tubes_[id]; }
  Tube* find_tube(std::string_view name);
  const Tube* find_tube(std::string_view name) const {
    return const_cast<State*>(this)->find_tube(name);
  }
  // Returns the tube of that name and makes it if there is none. Returns null when there are too
  // many tubes.
  Tube* find_or_make_tube(std::string_view name);
  Tube& make_tube(TubeId id, std::string_view name);
  TubeId next_tube_id();
  // Gives the tube a row on disk, if it has none.
  void store_tube(Tube& tube);
  // Ends the tube if it has no job, user or watcher any more.
  void end_if_unused(Tube& tube);
  void end_pause(Tube& tube);
  void schedule_delayed(Tube& tube);
  void update_has_ready(const Tube& tube) {
    has_ready_[tube.id] = !tube.paused() && tube.has_servable();
  }

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
  void check_fields(const Image& all) const;
  void check_groups(const Image& all) const;
  void check_tubes() const;
  void check_conns() const;
  bool is_in_its_heap(const Job& job) const;

  const Limits limits_;
  Turn turn_;

  JobPool pool_;
  IdMap<Job*> jobs_;
  IdMap<JobFields*> fields_;  // Owned.
  // The jobs that expire and are ready or delayed.
  absl::btree_set<std::pair<Nanos, JobId>> expiries_;
  KeyTable keys_;
  std::map<std::string, TubeSettings, std::less<>> settings_;  // By the name of the tube.
  KeptBuckets buckets_;                                        // Of tubes that are not there.
  JobId next_id_ = 1;
  JobId id_limit_ = 1;  // What the last NextIdRaised said.
  uint64_t next_bury_order_ = 1;

  // Indexed by id. The entry of a free id is null.
  std::vector<std::unique_ptr<Tube>> tubes_;
  std::priority_queue<TubeId, std::vector<TubeId>, std::greater<>> free_tube_ids_;
  TubesByName tubes_by_name_;
  // protocol.txt, "list-tubes", in beanstalkd's order: by creation, and the last one takes the
  // place of one that ends.
  std::vector<Tube*> tube_list_;
  size_t name_bytes_ = 0;  // The sum of the lengths of the names in tube_list_.
  // Indexed by tube id: whether a job may be reserved from the tube. One bit for each tube, so that
  // a connection that watches very many tubes quickly finds the few with a ready job.
  std::vector<bool> has_ready_;
  // By the deadline of the soonest delayed job.
  IndexedHeap<Tube, &Tube::delayed_index> tubes_by_delay_;
  // By the end of the pause.
  IndexedHeap<Tube, &Tube::pause_index> tubes_by_pause_;
  // Those whose rate is spent, by the time of the next reservation.
  IndexedHeap<Tube, &Tube::rate_index> tubes_by_rate_;
  std::vector<TubeId> freed_slots_;  // Tubes that are served at the end of the input.

  absl::flat_hash_map<ConnId, std::unique_ptr<Conn>> conns_;
  IndexedHeap<Conn, &Conn::deadline_index> conns_by_deadline_;
  size_t watched_bytes_ = 0;  // The memory of all watch lists.
  // Connections whose operation did not fit into a turn, oldest first.
  std::vector<ConnId> left_over_;
  // Closing connections that still have tubes to leave.
  std::deque<ConnId> leaving_;
  // Only the first may have begun.
  std::deque<Listing> listings_;
  // Who asked for the listing of all tubes that has not begun.
  std::vector<ConnId> list_askers_;
  // Kept until the current listing, which may name these tubes, is complete.
  std::vector<std::unique_ptr<Tube>> ended_tubes_;

  bool draining_ = false;
  StateCounts counts_;
  CommandCounts commands_;
  uint64_t job_timeouts_ = 0;
  uint64_t total_jobs_ = 0;   // Loaded and put.
  uint64_t loaded_jobs_ = 0;  // By the start.
  uint64_t body_bytes_ = 0;   // Of all jobs.
  uint64_t connections_ = 0;
  uint64_t producers_ = 0;
  uint64_t workers_ = 0;
  uint64_t waiting_ = 0;
  uint64_t total_connections_ = 0;
  uint64_t jobs_damaged_ = 0;
  uint64_t jobs_duplicate_ = 0;
  uint64_t jobs_dead_ = 0;
  uint64_t jobs_expired_ = 0;
  uint64_t jobs_parked_ = 0;
  JobEnds job_ends_;
  PutRefusals puts_refused_ = {};
  WorkTimes work_times_;
  MeasuredTubes measured_tubes_;
  size_t ready_apart_ = 0;     // The ready jobs that are apart: ready_order.h.
  bool is_restoring_ = false;  // Jobs are restored, and finish_restore() is to come.
  Nanos restored_at_ = 0;      // 0: nothing was there before.
};

}  // namespace perennial::engine
