#include "cmd/perennial/arguments/protocol_option.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::tool {
namespace {

struct OptionText {
  std::string_view name;
  std::string_view value;  // What stands for the value in the help.
  std::string_view valid;  // Which values are valid: what follows "is no".
  bool has_duration = false;
};

constexpr std::array option_texts = {
    OptionText{"idp", "KEY[:SECONDS]",
               "key: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-', and perhaps "
               "':' and whole seconds"},
    OptionText{"until", "WHEN", "end of a key: deleted, reserved or ttl"},
    OptionText{"tries", "N", "number of tries: 1 to 1000000"},
    OptionText{"backoff", "FIRST[:CAP]",
               "back-off: a duration above 0, and perhaps ':' and a second one, not below the "
               "first; '10' or '10s' is seconds, '250ms' milliseconds",
               true},
    OptionText{"dead", "TUBE",
               "name of a tube: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-'"},
    OptionText{"tube", "TUBE",
               "name of a tube: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-'"},
    OptionText{"expire", "TIME", "duration above 0: '10' or '10s' is seconds, '250ms' milliseconds",
               true},
    OptionText{"delay", "TIME", "duration: '10' or '10s' is seconds, '250ms' milliseconds", true},
    OptionText{"ttr", "TIME", "ttr: '10' or '10s' is seconds, '250ms' milliseconds, at least 10ms",
               true},
    OptionText{"pri", "N", "priority: 0 to 4294967295"},
    OptionText{"state", "STATES",
               "list of states: ready, reserved, delayed and buried, with commas between them"},
    OptionText{"match", "RANGES",
               "list of ranges of age, pri, reserves and timeouts, each at most once, with commas "
               "between them: 'age=3600-,reserves=3-5'"},
    OptionText{"reserved", "N", "number of jobs: 1 to 4294967295"},
    OptionText{"rate", "N:TIME", "rate: a number of jobs, ':' and a duration, both above 0", true},
    OptionText{"con", "KEY[:JOBS]",
               "concurrency key: 1 to 200 letters, digits and -+/;.$_(), the first of them no '-', "
               "and perhaps ':' and a number of jobs above 0"},
    OptionText{"drain", "yes|no", "answer: yes or no"},
};

const OptionText& text_of(std::string_view name) {
  const auto* const text = std::ranges::find(option_texts, name, &OptionText::name);
  CHECK(text != option_texts.end());
  return *text;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
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

std::string protocol_value(std::string_view name, std::string_view text) {
  if (!text_of(name).has_duration) return std::string(text);
  std::string value;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool ends_number = at > 0 && is_digit(text[at - 1]);
    const bool ends_duration = at + 1 == text.size() || text[at + 1] == ':';
    if (text[at] != 's' || !ends_number || !ends_duration) value += text[at];
  }
  return value;
}

Status wrong_value(std::string_view name, std::string_view text) {
  return {StatusCode::InvalidArgument,
          fmt::format("--{}: {:?} is no {}", name, text, text_of(name).valid)};
}

}  // namespace perennial::tool
