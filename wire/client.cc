#include "wire/client.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/time_text.h"

namespace perennial::wire {
namespace {

void append_part(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}
void append_part(std::string& out, std::string_view text) {
  out += text;
}

void append_part(std::string& out, PriorityOrKeep priority) {
  if (!priority.priority) return append_part(out, "=");
  append_part(out, uint64_t{*priority.priority});
}
template <typename T>
void append_part(std::string& out, const std::optional<T>& value);
template <uint64_t lowest, uint64_t highest>
void append_part(std::string& out, Bounded<lowest, highest> number) {
  append_part(out, number.value);
}
// Whole milliseconds; what is below is not sent.
void append_part(std::string& out, const Duration& duration) {
  const bool is_whole = duration.nanos % nanos_per_second == 0;
  const Nanos unit = is_whole ? nanos_per_second : nanos_per_ms;
  append_part(out, static_cast<uint64_t>(duration.nanos / unit));
  if (!is_whole) out += "ms";
}
void append_part(std::string& out, const Backoff& backoff) {
  append_part(out, Duration{backoff.first});
  out += ':';
  append_part(out, Duration{backoff.cap});
}
void append_part(std::string& out, const Rate& rate) {
  append_part(out, uint64_t{rate.jobs});
  out += ':';
  append_part(out, Duration{rate.period});
}
void append_part(std::string& out, const KeyOption& key) {
  out += key.key;
  if (key.seconds == 0) return;
  out += ':';
  append_part(out, uint64_t{key.seconds});
}
void append_part(std::string& out, const ConcurrencyKey& key) {
  out += key.key;
  out += ':';
  append_part(out, uint64_t{key.jobs_max});
}
void append_part(std::string& out, ReserveMode mode) {
  out += reserve_mode_rows[static_cast<size_t>(mode)].name;
}
void append_part(std::string& out, KeyUntil until) {
  out += key_until_rows[static_cast<size_t>(until)].name;
}
void append_part(std::string& out, YesOrNo answer) {
  out += answer.value ? "yes" : "no";
}
void append_part(std::string& out, No /*no*/) {
  out += "no";
}
void append_part(std::string& out, const TimeOption& time) {
  out += utc_text(time.time);
}
void append_part(std::string& out, const CronOption& cron) {
  const size_t begin = out.size();
  out += cron.expression;
  std::replace(out.begin() + static_cast<ptrdiff_t>(begin), out.end(), ' ', '_');
}
void append_part(std::string& out, MissedOption missed) {
  const auto row = std::ranges::find(missed_rows, missed.jobs, &MissedRow::jobs);
  if (row == missed_rows.end()) return append_part(out, uint64_t{missed.jobs});
  out += row->name;
}
void append_part(std::string& out, ScheduleOverlap overlap) {
  out += schedule_overlap_rows[static_cast<size_t>(overlap)].name;
}
template <typename T>
void append_part(std::string& out, const Change<T>& change) {
  if (!change.value) return append_part(out, std::string_view("-"));
  append_part(out, *change.value);
}
void append_part(std::string& out, Yes /*yes*/) {
  out += "yes";
}
void append_part(std::string& out, const std::vector<JobId>& ids) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) out += ' ';
    append_part(out, ids[i]);
  }
}
void append_part(std::string& out, StateSet states) {
  std::string_view comma;
  for (const JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (!states.holds(state)) continue;
    out += std::exchange(comma, ",");
    out += state_name(state);
  }
}
void append_part(std::string& out, const ListedStates& listed) {
  if (listed.are_ended) return append_part(out, std::string_view("ended"));
  append_part(out, listed.states);
}
void append_part(std::string& out, EndSet ends) {
  std::string_view comma;
  for (const JobEndRow& row : job_end_rows) {
    if (!ends.holds(row.how)) continue;
    out += std::exchange(comma, ",");
    out += row.name;
  }
}
void append_part(std::string& out, const JobMatch& match) {
  std::string_view comma;
  for (const JobNumberRow& row : job_number_rows) {
    const NumberRange& range = match.of(row.number);
    if (range == NumberRange()) continue;
    out += std::exchange(comma, ",");
    out += row.name;
    out += '=';
    if (range.min > 0 || range.max == UINT64_MAX) append_part(out, range.min);
    out += '-';
    if (range.max < UINT64_MAX) append_part(out, range.max);
  }
}
void append_part(std::string& out, const JobFacts& facts) {
  std::string_view comma;
  for (const JobFact fact : facts) {
    out += std::exchange(comma, ",");
    out += job_fact_rows[static_cast<size_t>(fact)].name;
  }
}

template <typename T>
void append_part(std::string& out, const std::optional<T>& value) {
  append_part(out, *value);
}

// Appends the options that differ from those of a command without options.
template <typename Of, typename Options>
void append_options(std::string& out, const Of& given, const Options& table) {
  const Of without = {};
  const auto append_one = [&](const auto& option) {
    if (given.*option.member == without.*option.member) return;
    out += ' ';
    out += option.name;
    out += ':';
    append_part(out, given.*option.member);
  };
  std::apply([&](const auto&... options) { (append_one(options), ...); }, table);
}

// What a duration in whole seconds leaves out, in nanoseconds.
template <typename C>
uint32_t rest_of(const C& command, const uint32_t C::*seconds) {
  if constexpr (requires { command.options->ttr_rest_ns; }) {
    if (!command.options) return 0;
    if (seconds == &C::delay_s) return command.options->delay_rest_ns;
    return seconds == &C::ttr_s ? command.options->ttr_rest_ns : 0;
  } else if constexpr (requires { command.delay_rest_ns; }) {
    return seconds == &C::delay_s ? command.delay_rest_ns : 0;
  } else if constexpr (requires { command.timeout_rest_ns; }) {
    return command.timeout_rest_ns;
  } else {
    return 0;
  }
}

template <typename C, typename Value>
void append_argument(std::string& out, const C& command, Value C::*member) {
  out += ' ';
  if constexpr (std::is_same_v<Value, uint32_t>) {
    const uint32_t rest_ns = rest_of(command, member);
    if (rest_ns > 0) {
      return append_part(out, Duration{command.*member * nanos_per_second + rest_ns});
    }
  }
  append_part(out, command.*member);
}

// The arguments and options of a command, with a space before each.
template <typename C>
void append_arguments(std::string& out, const C& command) {
  constexpr auto row = command_row<C>();
  std::apply([&](const auto&... args) { (append_argument(out, command, args.member), ...); },
             row.arguments);
  if constexpr (std::tuple_size_v<decltype(row.options)> == 0) {
    return;
  } else if constexpr (requires { typename C::Options; }) {
    if (command.options) append_options(out, *command.options, row.options);
  } else {
    append_options(out, command, row.options);
  }
}

// A line is a word and its arguments.
template <typename C>
void append_line(std::string& out, const C& command) {
  out += command_row<C>().word();
  append_arguments(out, command);
  out += "\r\n";
}

struct Appender {
  std::string& out;
  std::string_view body;

  template <typename C>
  void operator()(const C& command) const {
    append_line(out, command);
  }
  void operator()(const Put& put) const {
    CHECK(put.body_bytes == body.size());
    append_line(out, put);
    out += body;
    out += "\r\n";
  }
  void operator()(const Watch& watch) const {
    out += command_row<Watch>().word();
    append_arguments(out, watch);
    if (watch.weight) append_argument(out, watch, &Watch::weight);
    out += "\r\n";
  }
  void operator()(const Checkpoint& checkpoint) const {
    CHECK(!checkpoint.trailing_junk);
    out += command_row<Checkpoint>().word();
    out += checkpoint.temporary ? " temporary\r\n" : "\r\n";
  }
  void operator()(const ListJobs& list) const {
    if (!list.tube.empty()) return append_line(out, list);
    ListJobs all = list;
    all.tube.assign(1, '*');
    append_line(out, all);
  }
  void operator()(const NoteJob& note) const {
    CHECK(note.bytes == note.text.size());
    append_line(out, note);
    out += note.text;
    out += "\r\n";
  }
  void operator()(const NoteRefused&) const { refuse(); }
  void operator()(const SetSchedule& set) const {
    CHECK(set.body_bytes == body.size());
    append_line(out, set);
    out += body;
    out += "\r\n";
  }
  void operator()(const ScheduleRefused&) const { refuse(); }
  void operator()(const PutBatch& batch) const {
    CHECK(batch.bytes == body.size());
    append_line(out, batch);
    out += body;
    out += "\r\n";
  }
  void operator()(const PutBatchRefused&) const { refuse(); }
  void operator()(const PutTooBig&) const { refuse(); }
  void operator()(const PutTrailingJunk&) const { refuse(); }
  void operator()(const PutNoCrlf&) const { refuse(); }
  void operator()(const Malformed&) const { refuse(); }

  static void refuse() { CHECK(!"a client asks only for what is a command"); }
};

}  // namespace

void append_item(std::string& items, const Put& put, std::string_view body) {
  CHECK(put.body_bytes == body.size());
  if (!items.empty()) items += "\r\n";
  const size_t begin = items.size();
  append_line(items, put);
  items.erase(begin, command_row<Put>().prefix.size());
  items += body;
}

void append_command(std::string& out, const Command& command, std::string_view body) {
  CHECK(body.empty() || std::holds_alternative<Put>(command) ||
        std::holds_alternative<PutBatch>(command) || std::holds_alternative<SetSchedule>(command));
  std::visit(Appender{out, body}, command);
}

}  // namespace perennial::wire
