#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/stats.h"
#include "engine/types/transition.h"
#include "engine/view/measured_times.h"

namespace perennial::engine {

class State;

// What statistics, HTTP and access rules read of an engine: many functions, none of which changes
// it. Engine::view() gives it. It is small and copied, and sees the engine as it is at each call.
//
// REQUIRES: the engine outlives its views. A connection that is named is there, where the function
// does not say otherwise. What a function returns by reference or pointer is valid until the next
// input.
class EngineView {
 public:
  explicit EngineView(const State& state) : state_(&state) {}

  JobId next_id() const;
  size_t job_count() const;
  StateCounts state_counts() const;
  uint64_t jobs_damaged() const;
  bool is_draining() const;
  // The sizes of the answers to list-tubes and list-tubes-watched.
  NamesSize tubes_size() const;
  NamesSize watched_size(ConnId conn) const;
  // What a connection has, for whoever judges what it may do.
  const std::string& used_tube(ConnId conn) const;
  bool watches(ConnId conn, std::string_view tube) const;
  std::vector<const std::string*> watched_tubes(ConnId conn) const;
  // Whether the connection has reserved the job.
  bool holds(ConnId conn, JobId job) const;
  // How many jobs it has reserved.
  size_t held(ConnId conn) const;
  // The tubes of the jobs that it has reserved, one for each job.
  std::vector<const std::string*> held_tubes(ConnId conn) const;
  bool is_waiting(ConnId conn) const;
  // Null: there is no such job.
  const std::string* tube_of_job(JobId job) const;
  // What stats and stats-tube answer. To read them is no command, and counts as none.
  EngineStats statistics() const;
  const PutRefusals& puts_refused() const;
  const WorkTimes& work_times() const;
  // The waits and runs of the tubes that are measured one by one, by name.
  const TimesByName& measured_tubes() const;
  // None: no tube has this number now. Numbers are below tube_numbers(), and are given out anew
  // when their tubes end.
  std::optional<TubeStats> tube_statistics(TubeId number) const;
  TubeId tube_numbers() const;
  // None: there is no such tube.
  std::optional<TubeStats> tube_statistics(std::string_view name) const;
  // What stats-job answers. None: there is no such job.
  std::optional<JobStats> job_statistics(JobId id) const;
  // Where the ended jobs of the tube are; empty if it keeps none. The tube need not exist, here and
  // below.
  EndedSpan ended_span(std::string_view tube) const;
  // None: there is no such job.
  std::optional<JobState> state_of_job(JobId id) const;
  // The settings in force, and those of them that set-tube has set. Null: none.
  TubeSettings settings_of(std::string_view tube) const;
  const TubeSettings* settings_set(std::string_view tube) const;
  // The name of the next tube behind this one, in the order of names, that keeps ended jobs. Null:
  // there is none.
  const std::string* next_with_ended(std::string_view after) const;
  // How many jobs have ended since the start in tubes that keep such jobs, and were not kept:
  // Input::keeps_ended.
  uint64_t ended_not_kept() const;
  // A schedule as it is, by how much its planned times are due later, and why its put is being
  // refused, if it is.
  struct SeenSchedule {
    const ScheduleStored* stored;
    Nanos offset;
    std::optional<PutRefusal> refusal;
  };
  // None: there is no such schedule; or none behind this name, in the order of names.
  std::optional<SeenSchedule> schedule(std::string_view name) const;
  std::optional<SeenSchedule> next_schedule(std::string_view after) const;
  ScheduleCounts schedule_counts() const;
  // What a job that has ended shows of itself, as job_statistics() does of others.
  JobStats ended_statistics(const EndedJob& ended, Nanos now) const;
  // Whether its numbers are wanted.
  bool matches(const EndedJob& ended, const JobMatch& match, Nanos now) const;
  // Adds to `found` what list-jobs answers, and looks at `scan_max` jobs at most. None: there
  // is no such tube. Returns how many jobs it has looked at.
  std::optional<uint32_t> list_jobs(const ListJobs& list, uint32_t scan_max, JobList& found) const;
  // The same from the newest job to the oldest: those before `list.after`, or all if it is 0.
  std::optional<uint32_t> list_newest_jobs(const ListJobs& list, uint32_t scan_max,
                                           JobList& found) const;
  // The jobs of a tube that have failed: those that are buried, and those that died elsewhere and
  // wait in this tube, which is the dead tube of others. One of its first few ready jobs has died
  // then. There are so many places where such a job can be; 0: the tube has none of them.
  struct FailedJob {
    JobId id = 0;
    bool is_dead = false;  // Otherwise it is buried.
    uint64_t order = 0;    // Of those of the same kind and tube, a later failure has a higher one.
  };
  size_t failed_places(TubeId number) const;
  // Adds those that are in the places from `first` to before `end`. They are in no order.
  void failed_jobs(TubeId number, size_t first, size_t end, std::vector<FailedJob>& found) const;
  // Counts the jobs of a tube that are wanted, on from counted.cursor, and looks at `scan_max` jobs
  // at most, or at 1,000 of a tube with few of them. Returns whether all were looked at.
  struct CountJobs {
    std::string tube;
    StateSet states = StateSet::all();
    JobMatch match = {};
  };
  struct JobCount {
    uint64_t count = 0;
    JobId cursor = 0;  // All jobs up to this one were looked at.
  };
  bool count_jobs(const CountJobs& asked, uint32_t scan_max, JobCount& counted) const;
  // The connections of clients, in no order.
  std::vector<ConnId> connections() const;
  // How many jobs the unfinished long operation of a connection has moved so far.
  // None: it is finished, or has not begun.
  std::optional<uint64_t> operation_progress(ConnId conn) const;
  // None: there is no such connection now.
  std::optional<ConnStats> connection_statistics(ConnId conn) const;
  // An estimate of the memory that the engine uses, in bytes.
  size_t memory_bytes() const;
  // An estimate of the bytes of the answer to a command that lists tubes or jobs; 0 for any other
  // command.
  size_t listed_bytes(ConnId conn, const Command& command) const;

 private:
  const State* state_;
};

}  // namespace perennial::engine
