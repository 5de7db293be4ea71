#include "cmd/perennial/arguments/protocol_option.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include <fmt/format.h>

#include "cmd/common/duration.h"
#include "engine/types/check.h"

namespace perennial::tool {
namespace {

// Where a value has durations.
enum class Times : uint8_t {
  None,
  All,          // One, or two with ':' between them.
  BehindColon,  // Behind the first ':'.
  Age,          // In the range of `age`, in whole seconds.
};

struct OptionText {
  std::string_view name;
  std::string_view value;  // What stands for the value in the help.
  std::string_view valid;  // Which values are valid: what follows "is no".
  Times times = Times::None;
};

constexpr std::array option_texts = {
    OptionText{"idp", "KEY[:DURATION]",
               "key: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-', and perhaps "
               "':' and a duration in whole seconds",
               Times::BehindColon},
    OptionText{"until", "WHEN", "end of a key: deleted, reserved or ttl"},
    OptionText{"tries", "N", "number of tries: 1 to 1000000"},
    OptionText{"backoff", "FIRST[:CAP]",
               "back-off: a duration above 0, such as 90s, 15m or 250ms, and perhaps ':' and a "
               "second one, not below the first; a number is seconds",
               Times::All},
    OptionText{"dead", "TUBE",
               "name of a tube: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-'"},
    OptionText{"tube", "TUBE",
               "name of a tube: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-'"},
    OptionText{"expire", "DURATION",
               "duration above 0: 90s, 15m, 1h30m, 2d or 250ms; a number is seconds", Times::All},
    OptionText{"delay", "DURATION", "duration: 90s, 15m, 1h30m, 2d or 250ms; a number is seconds",
               Times::All},
    OptionText{
        "ttr", "DURATION",
        "ttr: a duration of at least 10ms, such as 90s, 15m, 1h30m, 2d or 250ms; a number is "
        "seconds",
        Times::All},
    OptionText{"pri", "N", "priority: 0 to 4294967295"},
    OptionText{
        "state", "STATES",
        "list of states: ready, reserved, delayed and buried, with commas between them; in a "
        "list also ended, alone"},
    OptionText{"match", "RANGES",
               "list of ranges of age, pri, reserves and timeouts, each at most once, with commas "
               "between them: 'age=1h-,reserves=3-5'",
               Times::Age},
    OptionText{"reserved", "N", "number of jobs: 1 to 4294967295"},
    OptionText{"rate", "N:DURATION",
               "rate: a number of jobs, ':' and a duration such as 1s or 250ms, both above 0",
               Times::BehindColon},
    OptionText{"con", "KEY[:JOBS]",
               "concurrency key: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-', "
               "and perhaps ':' and a number of jobs above 0"},
    OptionText{"drain", "yes|no", "answer: yes or no"},
    OptionText{"keep", "DURATION",
               "duration above 0: 90s, 15m, 1h30m, 2d or 250ms; a number is seconds", Times::All},
    OptionText{"keep-max", "N", "number of jobs: 1 to 4294967295"},
    OptionText{"since", "DURATION",
               "duration above 0: 90s, 15m, 1h30m, 2d or 250ms; a number is seconds", Times::All},
    OptionText{"every", "DURATION",
               "period: a duration of at least 1s, such as 90s, 15m, 1h30m or 2d; a number is "
               "seconds",
               Times::All},
    OptionText{"cron", "EXPRESSION", "cron expression"},
    OptionText{"at", "TIME", "time such as 2026-03-29T01:59:00+01:00"},
    OptionText{"anchor", "TIME", "time such as 2026-03-29T01:59:00+01:00"},
    OptionText{"zone", "ZONE", "name of a time zone, such as Europe/Berlin"},
    OptionText{"missed", "none|one|all|N", "number of missed times: none, one, all, or 0 to 1000"},
    OptionText{"overlap", "allow|skip|replace", "word for an overlap: allow, skip or replace"},
    OptionText{"jitter", "DURATION",
               "duration above 0: 90s, 15m, 1h30m, 2d or 250ms; a number is seconds", Times::All},
    OptionText{"paused", "yes|no", "answer: yes or no"},
    OptionText{"how", "ENDS",
               "list of ends: deleted, flushed and expired, with commas between them"},
};

const OptionText& text_of(std::string_view name) {
  const auto* const text = std::ranges::find(option_texts, name, &OptionText::name);
  CHECK(text != option_texts.end());
  return *text;
}

// A duration as the protocol has it: "5" or "250ms". What is none stays, so that it is refused.
std::string protocol_time(std::string_view text) {
  const Result<std::chrono::milliseconds> time = common::parse_duration(text);
  if (!time.ok()) return std::string(text);
  const int64_t count = time->count();
  return count % 1000 == 0 ? fmt::format("{}", count / 1000) : fmt::format("{}ms", count);
}

// The same for each part of a text between which there is `separator`.
std::string protocol_times(std::string_view text, char separator) {
  const size_t end = text.find(separator);
  std::string first = protocol_time(text.substr(0, end));
  if (end == std::string_view::npos) return first;
  return first + separator + protocol_times(text.substr(end + 1), separator);
}

// The same for the bounds of the range of age, in a list of ranges.
std::string protocol_ages(std::string_view text) {
  constexpr std::string_view age = "age=";
  std::string value;
  for (bool more = true; more;) {
    const size_t end = text.find(',');
    const std::string_view range = text.substr(0, end);
    value += range.starts_with(age)
                 ? fmt::format("{}{}", age, protocol_times(range.substr(age.size()), '-'))
                 : std::string(range);
    more = end != std::string_view::npos;
    if (more) value += ',';
    text.remove_prefix(more ? end + 1 : text.size());
  }
  return value;
}

}  // namespace

bool is_any_given(std::initializer_list<GivenOption> given) {
  return std::ranges::any_of(given, [](const GivenOption& one) { return one.text.has_value(); });
}

Flag option_flag(std::string_view name, std::string help, std::optional<std::string>& target) {
  return {fmt::format("--{}", name), std::string(text_of(name).value), std::move(help), &target};
}

Flag option_flag(std::string_view name, std::string help, std::string& target) {
  return {fmt::format("--{}", name), std::string(text_of(name).value), std::move(help), &target};
}

Flag until_flag(std::optional<std::string>& target) {
  Flag flag = option_flag("until", "When the key is given up", target);
  for (const KeyUntilRow& row : key_until_rows) flag.choices.emplace_back(row.name);
  return flag;
}

std::string protocol_value(std::string_view name, std::string_view text) {
  const size_t colon = text.find(':');
  switch (text_of(name).times) {
    case Times::None:
      break;
    case Times::All:
      return protocol_times(text, ':');
    case Times::BehindColon:
      if (colon == std::string_view::npos) break;
      return fmt::format("{}:{}", text.substr(0, colon), protocol_time(text.substr(colon + 1)));
    case Times::Age:
      return protocol_ages(text);
  }
  return std::string(text);
}

std::string why_wrong(std::string_view name, std::string_view text) {
  return fmt::format("{:?} is no {}", text, text_of(name).valid);
}

Status wrong_value(std::string_view name, std::string_view text) {
  return {StatusCode::InvalidArgument, fmt::format("--{}: {}", name, why_wrong(name, text))};
}

}  // namespace perennial::tool
