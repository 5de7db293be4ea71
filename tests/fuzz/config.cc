#include "cmd/perenniald/config/config.h"

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/config/flags.h"
#include "engine/types/check.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

using perenniald::Config;
using perenniald::ConfigField;
using perenniald::Invocation;
using perenniald::Problems;

std::string all_of(const Config& config) {
  std::string text;
  for (const ConfigField& field : perenniald::config_fields()) {
    text += fmt::format("{}={}\n", field.key, perenniald::config_text(config, field));
  }
  return text;
}

void check_printed(const Config& config) {
  Config again = perenniald::default_config();
  CHECK(perenniald::read_config(again, perenniald::print_config(config), "printed").empty());
  CHECK(all_of(again) == all_of(config));
}

void check_yaml(std::string_view yaml) {
  Config config = perenniald::default_config();
  const Problems problems = perenniald::read_config(config, yaml, "f");
  for (const std::string& problem : problems) CHECK(problem.starts_with("f:"));
  if (problems.empty()) check_printed(config);
}

// One argument per line. Flags that name files are left out.
void check_flags(std::string_view lines) {
  if (lines.find("--config") != std::string_view::npos) return;
  std::vector<std::string> words = {"perenniald"};
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    words.emplace_back(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  const Invocation made =
      perenniald::parse_command_line(static_cast<int>(arguments.size()), arguments.data());
  if (made.action != Invocation::Action::Exit) return check_printed(made.config);
  CHECK(made.exit_code == 0 || made.exit_code == common::exit_usage);
  CHECK(made.exit_code == 0 ? !made.out.empty() : !made.err.empty());
}

}  // namespace

// The letter 'f' and flags, or any other letter and YAML.
void config(std::string_view input) {
  Choices choices(input);
  const uint8_t kind = choices.byte();
  kind == 'f' ? check_flags(choices.rest()) : check_yaml(choices.rest());
}

}  // namespace perennial::fuzz
