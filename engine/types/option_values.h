#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/ended_job.h"
#include "engine/types/job_fields.h"

// The types of arguments and options beyond beanstalkd's numbers and names. The type of a member
// says which values its option takes: wire/arguments.h reads them, and wire/client.cc writes them.
namespace perennial {

// The longest duration that is accepted, in seconds.
inline constexpr uint32_t duration_seconds_max = 4'294'967'295;

// "5" is five seconds, and "250ms" a quarter of one. At most duration_seconds_max.
struct Duration {
  Nanos nanos = 0;

  bool operator==(const Duration&) const = default;
};
// A duration that is not 0.
struct PositiveDuration : Duration {};

// A number between two bounds, both of them valid.
template <uint64_t lowest, uint64_t highest>
struct Bounded {
  uint64_t value = lowest;

  bool operator==(const Bounded&) const = default;
};

// A key and for how many seconds it stays taken after the job: "report:3600".
struct KeyOption {
  std::string key;
  uint32_t seconds = 0;

  bool operator==(const KeyOption&) const = default;
};

// A ttr: 0 is made 1 s, and one in milliseconds is at least ttr_ms_min.
inline constexpr uint32_t ttr_ms_min = 10;
struct TtrOption : Duration {};
// The time that a touch leaves. At least ttr_ms_min.
struct TouchTime : Duration {};

// A moment, as RFC 3339 writes it: nanoseconds since the epoch, and not before it.
struct TimeOption {
  Nanos time = 0;

  bool operator==(const TimeOption&) const = default;
};
// The fields of a cron expression. On the line a `_` stands for each space between them. Whether it
// is an expression at all is judged by the calendar.
inline constexpr size_t cron_bytes_max = 200;
struct CronOption {
  std::string expression;

  bool operator==(const CronOption&) const = default;
};
// The period of a schedule: at least schedule_period_min.
inline constexpr Nanos schedule_period_min = nanos_per_second;
struct PeriodOption : Duration {};
// For how many planned times that were missed a job is put: "none", "one", "all", which is
// missed_most, or a number up to that.
inline constexpr uint32_t missed_most = 1'000;
struct MissedOption {
  uint32_t jobs = 1;

  bool operator==(const MissedOption&) const = default;
};
struct MissedRow {
  uint32_t jobs;
  std::string_view name;
};
inline constexpr std::array missed_rows = {MissedRow{0, "none"}, MissedRow{1, "one"},
                                           MissedRow{missed_most, "all"}};

// The name of a tube, where a setting may also be taken away.
using TubeName = std::string;

// "yes" or "no".
struct YesOrNo {
  bool value = false;

  bool operator==(const YesOrNo&) const = default;
};
// The only value of an option that switches something off is "no".
struct No {
  bool given = false;

  bool operator==(const No&) const = default;
};
// The only value of an option that switches something on is "yes".
struct Yes {
  bool given = false;

  bool operator==(const Yes&) const = default;
};

// The share of a tube in the reservations of a connection.
inline constexpr uint32_t weight_max = 9'999;
using Weight = Bounded<1, weight_max>;

// How a connection chooses among the tubes that it watches: the best job of all of them, or by
// their weights.
enum class ReserveMode : uint8_t { Fifo, Weighted };
struct ReserveModeRow {
  ReserveMode mode;
  std::string_view name;
};
inline constexpr std::array reserve_mode_rows = {ReserveModeRow{ReserveMode::Fifo, "fifo"},
                                                 ReserveModeRow{ReserveMode::Weighted, "weighted"}};

using TriesOption = Bounded<1, tries_max>;
// A number of jobs that a setting allows.
using CountOption = Bounded<1, UINT32_MAX>;

// A priority, or "=", which keeps the priority that the job has.
struct PriorityOrKeep {
  std::optional<uint32_t> priority;

  PriorityOrKeep() = default;
  PriorityOrKeep(uint32_t value) : priority(value) {}  // NOLINT: a priority is the usual case.
  bool operator==(const PriorityOrKeep&) const = default;
};

// A setting that a command changes: a value, or "-", which takes it away.
template <typename T>
struct Change {
  bool given = false;
  std::optional<T> value = {};

  bool operator==(const Change&) const = default;
  // Changes the setting, optional or boxed, if it is to be changed.
  template <typename Setting>
  void apply(Setting& setting) const {
    if (given) setting = value;
  }
};

// A set of states: "ready,buried". Each state at most once, and at least one.
class StateSet {
 public:
  constexpr StateSet() = default;
  constexpr StateSet(std::initializer_list<JobState> states) {
    for (const JobState state : states) add(state);
  }
  static constexpr StateSet all() {
    return {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried};
  }
  constexpr void add(JobState state) { bits_ |= bit(state); }
  constexpr bool holds(JobState state) const { return (bits_ & bit(state)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr bool operator==(const StateSet&) const = default;

 private:
  static constexpr uint8_t bit(JobState state) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(state));
  }
  uint8_t bits_ = 0;
};

// What list-jobs names: jobs in some states, or those that have ended: "ended".
struct ListedStates {
  StateSet states = StateSet::all();
  bool are_ended = false;

  bool operator==(const ListedStates&) const = default;
};

// A set of ways in which jobs end: "deleted,flushed". Each at most once, and at least one.
class EndSet {
 public:
  constexpr EndSet() = default;
  constexpr EndSet(std::initializer_list<JobEnd> ends) {
    for (const JobEnd end : ends) add(end);
  }
  constexpr void add(JobEnd end) { bits_ |= bit(end); }
  constexpr bool holds(JobEnd end) const { return (bits_ & bit(end)) != 0; }
  constexpr bool operator==(const EndSet&) const = default;

 private:
  static constexpr uint8_t bit(JobEnd end) {
    return static_cast<uint8_t>(1u << static_cast<unsigned>(end));
  }
  uint8_t bits_ = 0;
};

// The numbers of a job that `match:` compares.
enum class JobNumber : uint8_t {
  Age,  // In whole seconds.
  Priority,
  Reserves,
  Timeouts,
};
struct JobNumberRow {
  JobNumber number;
  std::string_view name;
};
inline constexpr std::array job_number_rows = {
    JobNumberRow{JobNumber::Age, "age"}, JobNumberRow{JobNumber::Priority, "pri"},
    JobNumberRow{JobNumber::Reserves, "reserves"}, JobNumberRow{JobNumber::Timeouts, "timeouts"}};

// A number from `min` to `max`, both of them valid.
struct NumberRange {
  uint64_t min = 0;
  uint64_t max = UINT64_MAX;

  bool admits(uint64_t number) const { return min <= number && number <= max; }
  bool operator==(const NumberRange&) const = default;
};

// Which jobs are wanted, by their numbers: "age=3600-,reserves=3-5". Each number at most once, and
// at least one. Without a range a number is not looked at.
class JobMatch {
 public:
  NumberRange& of(JobNumber number) { return ranges_[static_cast<size_t>(number)]; }
  const NumberRange& of(JobNumber number) const { return ranges_[static_cast<size_t>(number)]; }
  // Whether it leaves any job out.
  bool is_set() const { return *this != JobMatch(); }
  bool operator==(const JobMatch&) const = default;

 private:
  std::array<NumberRange, job_number_rows.size()> ranges_ = {};
};

// A fact of a job that `with:` adds to the line of a reply.
enum class JobFact : uint8_t {
  Tube,
  Priority,
  Age,
  Delay,
  Ttr,
  Left,
  Reserves,
  Timeouts,
  Releases,
  Buries,
  Kicks,
  Attempts,
  Tries,
  From,
  Key,
  Notes,
  // Of a job that has ended, empty or 0 of any other: how it did, how many seconds ago, by whom.
  Ended,
  EndedAge,
  EndedBy,
  Restored,  // The job that had ended and that was put back as this one. Empty: none.
  // When it was put, by whom, when it ended, and when it was first reserved. Empty: not known.
  PutAt,
  PutBy,
  EndedAt,
  FirstReserved,
  // Which schedule put it, and for which planned time. Empty: none did.
  Schedule,
  Planned,
};
struct JobFactRow {
  JobFact fact;
  std::string_view name;
};
// In the order of JobFact.
inline constexpr std::array job_fact_rows = {
    JobFactRow{JobFact::Tube, "tube"},         JobFactRow{JobFact::Priority, "pri"},
    JobFactRow{JobFact::Age, "age"},           JobFactRow{JobFact::Delay, "delay"},
    JobFactRow{JobFact::Ttr, "ttr"},           JobFactRow{JobFact::Left, "left"},
    JobFactRow{JobFact::Reserves, "reserves"}, JobFactRow{JobFact::Timeouts, "timeouts"},
    JobFactRow{JobFact::Releases, "releases"}, JobFactRow{JobFact::Buries, "buries"},
    JobFactRow{JobFact::Kicks, "kicks"},       JobFactRow{JobFact::Attempts, "attempts"},
    JobFactRow{JobFact::Tries, "tries"},       JobFactRow{JobFact::From, "from"},
    JobFactRow{JobFact::Key, "idp"},           JobFactRow{JobFact::Notes, "notes"},
    JobFactRow{JobFact::Ended, "ended"},       JobFactRow{JobFact::EndedAge, "ended-age"},
    JobFactRow{JobFact::EndedBy, "ended-by"},  JobFactRow{JobFact::Restored, "restored"},
    JobFactRow{JobFact::PutAt, "put-at"},      JobFactRow{JobFact::PutBy, "put-by"},
    JobFactRow{JobFact::EndedAt, "ended-at"},  JobFactRow{JobFact::FirstReserved, "first-reserved"},
    JobFactRow{JobFact::Schedule, "schedule"}, JobFactRow{JobFact::Planned, "planned"},
};
constexpr bool are_in_order(std::span<const JobFactRow> rows) {
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].fact != static_cast<JobFact>(i)) return false;
  }
  return rows.back().fact == JobFact::Planned;
}
static_assert(are_in_order(job_fact_rows));

// Facts in the order in which they were asked for, each at most once.
class JobFacts {
 public:
  constexpr bool empty() const { return count_ == 0; }
  constexpr const JobFact* begin() const { return facts_.data(); }
  constexpr const JobFact* end() const { return facts_.data() + count_; }
  // Returns false if the fact is there already.
  constexpr bool add(JobFact fact) {
    for (const JobFact known : *this) {
      if (known == fact) return false;
    }
    facts_[count_++] = fact;
    return true;
  }
  constexpr bool operator==(const JobFacts&) const = default;

 private:
  std::array<JobFact, job_fact_rows.size()> facts_ = {};
  uint8_t count_ = 0;
};

}  // namespace perennial
