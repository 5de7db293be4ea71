#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/types/calendar.h"
#include "engine/types/image.h"
#include "engine/types/input.h"

namespace perennial::model {

// The model: a second implementation of the job-state machine, written from the protocol as simply
// as possible. It uses maps and linear scans, and no index that could be wrong. It is slow, but
// easy to check by reading. It has no limits, and an input is never divided into several turns.
class ModelEngine {
 public:
  // Without a calendar there are no schedules.
  explicit ModelEngine(std::shared_ptr<const Calendar> calendar = {});

  // Applies an input and returns its replies, in order.
  std::vector<engine::ConnReply> apply(const engine::Input& input);
  std::optional<Nanos> next_deadline() const;
  // Restarts: all connections close at once, and no id below `next_id` is given out later.
  void reopen(JobId next_id, Nanos now, Nanos wall = 0,
              std::shared_ptr<const Calendar> calendar = {});
  // Returns the state that is kept on disk. id_limit is not set, because only the engine gives out
  // ids in blocks.
  engine::Image image() const;

  // What became of the last Restore: Output::restored.
  const std::optional<Reply>& restored() const { return restored_; }
  // The ended jobs of a tube, by place, and the span of their places.
  struct Ended {
    EndedSpan span;
    std::map<uint64_t, EndedJob> jobs;
  };
  const std::map<std::string, Ended>& ended() const { return ended_; }

  const ScheduleCounts& schedule_counts();

  const std::set<ConnId>& conns() const { return conn_ids_; }
  bool unanswered(ConnId conn) const { return conns_.at(conn).waiting; }
  JobId next_id() const { return next_id_; }

 private:
  struct Job {
    JobRow row;
    ConnId holder = 0;
    Nanos deadline = 0;
    Nanos ready_since = 0;
  };
  struct Tube {
    TubeId id = 0;
    std::string name;
    bool stored = false;
    Nanos pause = 0;
    Nanos pause_until = 0;
    uint64_t total = 0;
    uint64_t deletes = 0;
    uint64_t pauses = 0;
    uint64_t duplicates = 0;
    uint64_t dead = 0;
    uint64_t expired = 0;
    bool rate_spent = false;  // Its bucket is empty until a Tick.
  };
  struct Conn {
    ConnId id = 0;
    std::string used = "default";
    std::vector<std::string> watched = {"default"};
    bool waiting = false;
    std::optional<Nanos> until;
    uint64_t waiting_since = 0;
    JobFacts with;       // What the reply to the wait tells.
    uint32_t batch = 0;  // More than 0: the wait is that of a reserve-batch.
    bool half_closed = false;
    bool producer = false;
    bool worker = false;
    bool is_weighted = false;
    std::map<std::string, uint32_t> weights;  // Of the tubes that have another one than 1.
    std::map<std::string, uint64_t> passes;
    uint64_t reached = 0;
  };
  struct Schedule {
    ScheduleStored stored;
    Nanos retry_at = 0;  // Its put was refused; 0: it was not.
    std::optional<Nanos> refused = {};
    uint32_t made_up = 0;
  };
  // What becomes of a job that comes back.
  enum class Outcome { Ready, Delayed, Dead, Expired };
  struct Apply;

  Tube* find_tube(const std::string& name);
  const Tube& tube_of(const Job& job) const;
  Tube& find_or_make_tube(const std::string& name);
  bool is_unused(const Tube& tube) const;
  void end_if_unused(const std::string& name);
  Job* best(Conn& conn);
  void begin_choice(Conn& conn);
  void count_share(Conn& conn, const Job& job);
  static const ConcurrencyKey* concurrency_of(const Job& job);
  size_t running(TubeId tube, const std::string& key) const;
  bool is_parked(const Job& job) const;
  uint64_t count_parked(const std::string* tube) const;
  // The ready jobs of a tube that may be reserved, in order. Of each key only the best one.
  std::vector<Job*> servable_in(const std::string& tube);
  // Returns the jobs of a tube in a state, in the order of that state.
  std::vector<Job*> jobs_in(const std::string& tube, JobState state);
  std::vector<Job*> held_by(ConnId conn);
  bool deadline_soon(ConnId conn);
  void make_ready(Job& job);
  void now_is_ready(Job& job) const;
  void reserve(Conn& conn, Job& job);
  void reserve_batch(Conn& conn, uint32_t count, const JobFacts& with);
  void answer_no_job(ConnId conn, bool is_batch);
  JobStats stats_of(const Job& job) const;
  JobReply job_reply(Word word, const Job& job, const JobFacts& with) const;
  // A ready job has come into the tube, or a pause has ended.
  void serve(TubeId tube);
  void add_job(const Put& put, const std::string& tube, const ScheduleOrigin* origin = nullptr);
  Nanos delay_of(const Job& job) const;
  Nanos ttr_of(const Job& job) const;
  static void set_delay(Job& job, Nanos delay);
  static void set_ttr(Job& job, Nanos ttr);
  static void drop_empty_fields(Job& job);
  TubeSettings settings_of(const std::string& tube) const;
  bool is_servable(const Tube& tube) const;
  // Counts the attempt. `delay` becomes the delay of a job that is Delayed.
  Outcome end_attempt(Job& job, bool counts, Nanos& delay);
  void give_back(Job& job, Outcome outcome, Nanos delay);
  bool move_to_dead_tube(Job& job);
  void expire(Job& job);
  void kicked(Job& job);
  void put_into(Job& job, const std::string& tube);
  JobRow row_of(const Job& job) const;
  // A job is gone, and kept if its tube keeps such jobs.
  void end(JobId id, JobEnd how);
  Reply restore(const EndedJob& ended);
  void end_kept(const engine::EndedOver& over);
  // A job leaves: frees its key, or begins its cooldown.
  void end_key(Job& job, bool is_free);
  const KeyStored* taken_key(const std::string& tube, const std::string& key) const;
  std::optional<Duplicate> find_duplicate(const std::string& tube, const Put& put);
  bool is_draining(const std::string& tube) const;
  void take_from_rate(const std::string& tube);
  void leaves(const Job& job);
  static std::optional<Nanos> expiry_of(const Job& job);
  static Nanos margin(Nanos ttr);
  static Nanos interval_of(const Rate& rate);
  Nanos next_token_at(const std::string& tube) const;
  // Returns whether the connection may delete the job; if so, deletes it.
  bool remove(ConnId conn, JobId id);
  void serve_waiting(Tube& tube);
  void bury(Job& job);
  void answer(ConnId conn, Reply reply) { replies_.push_back({conn, std::move(reply)}); }
  std::optional<Nanos> conn_deadline(const Conn& conn) const;
  void tick();
  void tick_expiries();
  void tick_keys();
  void tick_pauses();
  void tick_rates();
  void tick_schedules();
  Schedule* find_schedule(const std::string& name);
  Nanos offset_of(const perennial::Schedule& schedule) const;
  std::optional<Nanos> due_of(const Schedule& schedule) const;
  // Changes the next time to the first one behind this one.
  void plan(ScheduleProgress& progress, const ScheduleWhen& when, Nanos after) const;
  void plan_anew(ScheduleProgress& progress, const perennial::Schedule& schedule) const;
  Nanos passed_of(const ScheduleProgress& progress) const;
  Nanos new_times_begin(const Schedule& old) const;
  void pass_due(const std::string& name);
  void set_progress(Schedule& schedule, const ScheduleProgress& progress, uint32_t made_up);
  // Returns what a put is answered. A word: it was refused.
  Reply fire(Schedule& schedule, Nanos planned, ScheduleProgress after, uint32_t made_up);
  void pass(Schedule& schedule);
  StateCounts count(const std::string* tube);

  std::map<JobId, Job> jobs_;
  std::vector<Tube> tubes_;                                        // In the order of list-tubes.
  std::map<std::pair<std::string, std::string>, KeyStored> keys_;  // By tube and key.
  std::map<std::string, TubeSettings> settings_;
  std::map<std::string, Ended> ended_;          // By the name of the tube.
  std::map<std::string, Nanos> rates_full_at_;  // When the bucket of a tube's name is full again.
  std::vector<std::string> freed_slots_;        // Tubes that are served at the end of the input.
  uint64_t duplicates_ = 0;
  uint64_t dead_ = 0;
  uint64_t expired_ = 0;
  std::map<ConnId, Conn> conns_;
  std::set<ConnId> conn_ids_;
  JobId next_id_ = 1;
  uint64_t next_bury_ = 1;
  uint64_t next_wait_ = 1;
  bool draining_ = false;
  CommandCounts commands_;
  uint64_t timeouts_ = 0;
  uint64_t total_jobs_ = 0;
  uint64_t total_conns_ = 0;
  uint64_t damaged_ = 0;
  std::shared_ptr<const Calendar> calendar_;
  std::map<std::string, Schedule> schedules_;
  bool looks_for_zones_ = false;  // Until the first Tick after a start.
  ScheduleCounts schedule_counts_;
  Nanos now_ = 0;
  Nanos wall_ = 0;
  bool accepts_puts_ = true;
  bool keeps_ended_ = true;
  std::string user_;
  std::optional<Reply> restored_;
  std::vector<engine::ConnReply> replies_;
};

}  // namespace perennial::model
