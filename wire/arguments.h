#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/types/command.h"
#include "engine/types/command_row.h"
#include "engine/types/option_values.h"
#include "wire/command_line.h"
#include "wire/time_text.h"

// Parses what follows the prefix on a command's line: arguments, and then options. Each function
// removes what it reads from the front of the line. It returns false when that is not valid; the
// line is then BAD_FORMAT, whatever else is on it.
namespace perennial::wire {

inline void skip_spaces(std::string_view& args) {
  while (args.starts_with(' ')) args.remove_prefix(1);
}

// Removes a number from the front: any spaces, then digits and nothing else, not even a sign.
template <std::integral Number>
bool take(std::string_view& args, Number& number) {
  skip_spaces(args);
  const auto [end, error] = std::from_chars(args.data(), args.data() + args.size(), number);
  if (error != std::errc()) return false;
  args.remove_prefix(static_cast<size_t>(end - args.data()));
  return true;
}

// Removes a name from the front, which ends at a space. Spaces before it are not skipped, unlike
// before a number: a name can only be the first argument.
inline bool take(std::string_view& args, std::string& name) {
  const std::string_view word = args.substr(0, args.find(' '));
  if (!is_tube_name(word)) return false;
  args.remove_prefix(word.size());
  name = word;
  return true;
}

template <uint64_t lowest, uint64_t highest>
bool take(std::string_view& args, Bounded<lowest, highest>& number) {
  return take(args, number.value) && number.value >= lowest && number.value <= highest;
}

inline bool take(std::string_view& args, PriorityOrKeep& priority) {
  skip_spaces(args);
  if (!args.starts_with('=')) return take(args, priority.priority.emplace());
  args.remove_prefix(1);
  priority.priority.reset();
  return args.empty() || args.starts_with(' ');
}

// "5" or "250ms".
inline bool take(std::string_view& args, Duration& duration) {
  constexpr std::string_view ms = "ms";
  uint64_t count = 0;
  if (!take(args, count)) return false;
  const bool is_ms = args.starts_with(ms);
  if (is_ms) args.remove_prefix(ms.size());
  const uint64_t most = is_ms ? uint64_t{duration_seconds_max} * 1000 : duration_seconds_max;
  if (count > most) return false;
  duration.nanos = static_cast<Nanos>(count) * (is_ms ? nanos_per_ms : nanos_per_second);
  return true;
}
inline bool take(std::string_view& args, PositiveDuration& duration) {
  return take(args, static_cast<Duration&>(duration)) && duration.nanos > 0;
}

// A ttr of 0 s is made 1 s. One in milliseconds that is too short is a mistake.
inline bool take(std::string_view& args, TtrOption& ttr) {
  const std::string_view text = args;
  if (!take(args, static_cast<Duration&>(ttr))) return false;
  const bool is_ms = text.substr(0, text.size() - args.size()).ends_with("ms");
  if (is_ms) return ttr.nanos >= ttr_ms_min * nanos_per_ms;
  ttr.nanos = std::max(ttr.nanos, nanos_per_second);
  return true;
}

inline bool take(std::string_view& args, TouchTime& time) {
  return take(args, static_cast<Duration&>(time)) && time.nanos >= ttr_ms_min * nanos_per_ms;
}

// Removes a duration from the front that is kept as whole seconds and the rest in nanoseconds.
// Milliseconds are read only where they are allowed.
inline bool take_split(std::string_view& args, ExtensionSet allowed, uint32_t& seconds,
                       uint32_t& rest_ns) {
  rest_ns = 0;
  if (!allowed.allows(Extension::Milliseconds)) return take(args, seconds);
  Duration duration;
  if (!take(args, duration)) return false;
  seconds = static_cast<uint32_t>(duration.nanos / nanos_per_second);
  rest_ns = static_cast<uint32_t>(duration.nanos % nanos_per_second);
  return true;
}

// The same for the ttr of a put: as TtrOption, but 0 s stays 0, which the engine makes 1 s.
inline bool take_split_ttr(std::string_view& args, ExtensionSet allowed, uint32_t& seconds,
                           uint32_t& rest_ns) {
  const std::string_view text = args;
  if (!take_split(args, allowed, seconds, rest_ns)) return false;
  const bool is_ms = text.substr(0, text.size() - args.size()).ends_with("ms");
  return !is_ms || seconds > 0 || rest_ns >= ttr_ms_min * nanos_per_ms;
}

// "5" or "5:60". Without a cap it is backoff_cap_default, or the first delay if that is longer.
inline bool take(std::string_view& args, Backoff& backoff) {
  PositiveDuration first;
  if (!take(args, first)) return false;
  backoff = {.first = first.nanos, .cap = std::max(first.nanos, backoff_cap_default)};
  if (!args.starts_with(':')) return true;
  args.remove_prefix(1);
  PositiveDuration cap;
  if (args.starts_with(' ') || !take(args, cap)) return false;
  backoff.cap = cap.nanos;
  return backoff.first <= backoff.cap;
}

// A moment. A fraction is cut off to milliseconds, because that is what replies show.
inline bool take(std::string_view& args, TimeOption& time) {
  const std::optional<Nanos> read = read_time(args);
  if (!read) return false;
  time.time = *read - *read % nanos_per_ms;
  args = {};
  return true;
}

inline bool take(std::string_view& args, CronOption& cron) {
  cron.expression = args;
  std::ranges::replace(cron.expression, '_', ' ');
  args = {};
  return !cron.expression.empty() && cron.expression.size() <= cron_bytes_max;
}

inline bool take(std::string_view& args, PeriodOption& period) {
  return take(args, static_cast<Duration&>(period)) && period.nanos >= schedule_period_min;
}

inline bool take(std::string_view& args, MissedOption& missed) {
  const auto row = std::ranges::find(missed_rows, args, &MissedRow::name);
  if (row == missed_rows.end()) return take(args, missed.jobs) && missed.jobs <= missed_most;
  missed.jobs = row->jobs;
  args = {};
  return true;
}

inline bool take(std::string_view& args, ScheduleOverlap& overlap) {
  const auto row = std::ranges::find(schedule_overlap_rows, args, &ScheduleOverlapRow::name);
  if (row == schedule_overlap_rows.end()) return false;
  overlap = row->overlap;
  args = {};
  return true;
}

// "jobs:period".
inline bool take(std::string_view& args, Rate& rate) {
  PositiveDuration period;
  if (!take(args, rate.jobs) || rate.jobs == 0 || !args.starts_with(':')) return false;
  args.remove_prefix(1);
  if (args.starts_with(' ') || !take(args, period)) return false;
  rate.period = period.nanos;
  return true;
}

// "key" or "key:seconds". A key has the bytes that the name of a tube may have.
inline bool take(std::string_view& args, KeyOption& key) {
  const std::string_view word = args.substr(0, args.find(':'));
  if (!is_tube_name(word)) return false;
  key.key = word;
  args.remove_prefix(word.size());
  if (args.empty()) return true;
  args.remove_prefix(1);
  return !args.starts_with(' ') && take(args, key.seconds);
}

// "key" or "key:jobs".
inline bool take(std::string_view& args, ConcurrencyKey& key) {
  KeyOption option;
  const size_t colon = args.find(':');
  if (!take(args, option)) return false;
  key.key = std::move(option.key);
  key.jobs_max = colon == std::string_view::npos ? 1 : option.seconds;
  return key.jobs_max > 0;
}

inline bool take(std::string_view& args, ReserveMode& mode) {
  const auto row = std::ranges::find(reserve_mode_rows, args, &ReserveModeRow::name);
  if (row == reserve_mode_rows.end()) return false;
  mode = row->mode;
  args = {};
  return true;
}

inline bool take(std::string_view& args, KeyUntil& until) {
  const auto row = std::ranges::find(key_until_rows, args, &KeyUntilRow::name);
  if (row == key_until_rows.end()) return false;
  until = row->until;
  args = {};
  return true;
}

inline bool take(std::string_view& args, YesOrNo& answer) {
  answer.value = args == "yes";
  const bool is_good = answer.value || args == "no";
  args = {};
  return is_good;
}
inline bool take(std::string_view& args, No& no) {
  no.given = args == "no";
  args = {};
  return no.given;
}

// Removes 1 to batch_count_max ids.
inline bool take(std::string_view& args, std::vector<JobId>& ids) {
  const auto is_next = [&] {
    const size_t at = args.find_first_not_of(' ');
    return at != std::string_view::npos && args[at] >= '0' && args[at] <= '9';
  };
  do {
    if (ids.size() == batch_count_max || !take(args, ids.emplace_back())) return false;
  } while (args.starts_with(' ') && is_next());
  return true;
}

// Removes a list of words with commas between them, up to the end or a space. `add` returns false
// for a word that is not valid.
template <typename Add>
bool take_list(std::string_view& args, Add add) {
  std::string_view list = args.substr(0, args.find(' '));
  args.remove_prefix(list.size());
  for (;;) {
    const size_t comma = list.find(',');
    if (!add(list.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    list.remove_prefix(comma + 1);
  }
}

inline bool take(std::string_view& args, StateSet& states) {
  states = StateSet();
  return take_list(args, [&](std::string_view word) {
    for (const JobState state :
         {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
      if (state_name(state) != word || states.holds(state)) continue;
      states.add(state);
      return true;
    }
    return false;
  });
}

// States, or "ended" alone.
inline bool take(std::string_view& args, ListedStates& listed) {
  const std::string_view word = args.substr(0, args.find(' '));
  listed.are_ended = word == "ended";
  if (!listed.are_ended) return take(args, listed.states);
  args.remove_prefix(word.size());
  return true;
}

inline bool take(std::string_view& args, EndSet& ends) {
  ends = EndSet();
  return take_list(args, [&](std::string_view word) {
    const auto row = std::ranges::find(job_end_rows, word, &JobEndRow::name);
    if (row == job_end_rows.end() || ends.holds(row->how)) return false;
    ends.add(row->how);
    return true;
  });
}

// "3-5", "3-", "-5", or "3", which is "3-3".
inline bool take_range(std::string_view text, NumberRange& range) {
  const size_t dash = text.find('-');
  const std::string_view low = text.substr(0, dash);
  const auto take_all = [](std::string_view number, uint64_t& value) {
    return !number.starts_with(' ') && take(number, value) && number.empty();
  };
  if (!low.empty() && !take_all(low, range.min)) return false;
  if (dash == std::string_view::npos) {
    range.max = range.min;
    return !low.empty();
  }
  const std::string_view high = text.substr(dash + 1);
  if (!high.empty() && !take_all(high, range.max)) return false;
  return !(low.empty() && high.empty()) && range.min <= range.max;
}

inline bool take(std::string_view& args, JobMatch& match) {
  std::array<bool, job_number_rows.size()> given = {};
  return take_list(args, [&](std::string_view word) {
    const size_t equals = word.find('=');
    if (equals == std::string_view::npos) return false;
    const auto row =
        std::ranges::find(job_number_rows, word.substr(0, equals), &JobNumberRow::name);
    if (row == job_number_rows.end()) return false;
    bool& seen = given[static_cast<size_t>(row->number)];
    if (std::exchange(seen, true)) return false;
    return take_range(word.substr(equals + 1), match.of(row->number));
  });
}

inline bool take(std::string_view& args, JobFacts& facts) {
  return take_list(args, [&](std::string_view word) {
    const auto row = std::ranges::find(job_fact_rows, word, &JobFactRow::name);
    return row != job_fact_rows.end() && facts.add(row->fact);
  });
}

inline bool take(std::string_view& args, Yes& yes) {
  yes.given = args == "yes";
  args = {};
  return yes.given;
}

// The two below come last, because they call the functions above.
template <typename T>
bool take(std::string_view& args, std::optional<T>& value) {
  return take(args, value.emplace());
}

template <typename T>
bool take(std::string_view& args, Change<T>& change) {
  change.given = true;
  if (args != "-") return take(args, change.value);
  args = {};
  change.value.reset();
  return true;
}

// Reads the value of one option, which has no space in it. Nothing may follow what is read.
template <typename Value>
bool take_value(std::string_view value, Value& member) {
  return take(value, member) && value.empty();
}

// The object whose members the options of a command set: the command, or what is in its box, which
// is made for the first option.
template <typename C>
auto& options_of(C& command) {
  if constexpr (requires { typename C::Options; }) {
    return command.options.make();
  } else {
    return command;
  }
}

// Reads the rest of the line as options of this table, one space before each, in any order and each
// at most once. An option whose extension is not allowed is unknown. No option is required, so an
// empty rest is valid.
template <typename C, typename Of, typename... Values>
bool take_options(std::string_view& args, C& command, ExtensionSet allowed,
                  const std::tuple<Option<Of, Values>...>& table) {
  std::array<bool, sizeof...(Values)> given = {};
  while (args.starts_with(' ')) {
    args.remove_prefix(1);
    const std::string_view word = args.substr(0, args.find(' '));
    const size_t colon = word.find(':');
    if (colon == std::string_view::npos) return false;
    args.remove_prefix(word.size());
    const auto take_as = [&](const auto& option, bool& seen) {
      if (option.name != word.substr(0, colon) || seen) return false;
      if (!allowed.allows(option.extension)) return false;
      seen = true;
      return take_value(word.substr(colon + 1), options_of(command).*option.member);
    };
    const auto take_any = [&](const auto&... options) {
      size_t at = 0;
      return (take_as(options, given[at++]) || ...);
    };
    if (!std::apply(take_any, table)) return false;
  }
  return args.empty();
}

// A command without options.
template <typename C>
bool take_options(std::string_view& args, C& /*command*/, ExtensionSet /*allowed*/,
                  const std::tuple<>& /*table*/) {
  return args.empty();
}

}  // namespace perennial::wire
