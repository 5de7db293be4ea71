#include "cmd/common/tool/cli.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/characters.h"
#include "cmd/common/duration.h"
#include "cmd/common/exit_codes.h"
#include "cmd/common/standard_streams.h"
#include "cmd/common/tool/colours.h"
#include "cmd/common/tool/command_words.h"
#include "cmd/common/tool/program_beside.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/common/units.h"

namespace perennial::tool {
namespace {

// Accepts whole numbers between the bounds of the flag, and shows these in the help if it has any.
// CLI11's own checks are not used: they read -1 and numbers that are too long as 2^64 - 1.
CLI::Validator whole_number(const Flag& flag, uint64_t type_max) {
  const uint64_t lowest = flag.lowest;
  const uint64_t highest = std::min(flag.highest, type_max);
  const auto check = [=](const std::string& text) {
    const Result<uint64_t> number = common::parse_count(text);
    if (number.ok() && *number >= lowest && *number <= highest) return std::string();
    return fmt::format("'{}' is not a whole number from {} to {}", text, lowest, highest);
  };
  const bool has_bounds = flag.lowest != 0 || flag.highest != ~uint64_t{0};
  return {check, has_bounds ? fmt::format("[{} to {}]", lowest, highest) : std::string()};
}

// The same for times, which are stored in the unit `Unit`.
template <typename Unit>
CLI::Validator duration(const Flag& flag) {
  using std::chrono::milliseconds;
  const auto bound = [](uint64_t count) {
    const auto longest = std::chrono::duration_cast<Unit>(common::duration_max);
    return std::min(Unit(std::min<uint64_t>(count, static_cast<uint64_t>(longest.count()))),
                    longest);
  };
  const milliseconds lowest = bound(flag.lowest);
  const milliseconds highest = bound(flag.highest);
  const auto range =
      fmt::format("{} to {}", common::format_duration(lowest), common::format_duration(highest));
  const auto check = [=](const std::string& text) {
    const Result<milliseconds> time = common::parse_duration(text);
    if (!time.ok()) return time.status().message();
    if (*time < lowest || *time > highest)
      return fmt::format("'{}' is not a duration from {}", text, range);
    const bool fits = std::chrono::duration_cast<Unit>(*time) == *time;
    return fits ? std::string() : fmt::format("'{}' is not in whole seconds", text);
  };
  const bool has_bounds = flag.lowest != 0 || flag.highest != ~uint64_t{0};
  return {check, has_bounds ? fmt::format("[{}]", range) : std::string()};
}

// REQUIRES: the text has passed the check.
template <typename Unit>
Unit read_duration(const std::string& text) {
  return std::chrono::duration_cast<Unit>(common::parse_duration(text).take());
}

struct AddFlag {
  CLI::App& app;
  const Flag& flag;

  CLI::Option* operator()(bool* target) const {
    return app.add_flag(flag.name, *target, flag.help);
  }
  CLI::Option* operator()(std::string* target) const {
    CLI::Option* const option = app.add_option(flag.name, *target, flag.help);
    option->type_name(flag.value);
    if (!target->empty()) option->capture_default_str();
    if (!flag.environment.empty()) option->envname(flag.environment);
    if (!flag.choices.empty()) option->check(CLI::IsMember(flag.choices));
    return option;
  }
  // CLI11's own conversion to std::optional takes an empty text for none.
  CLI::Option* operator()(std::optional<std::string>* target) const {
    const auto set = [target](const std::string& text) { *target = text; };
    CLI::Option* const option = app.add_option_function<std::string>(flag.name, set, flag.help);
    option->type_name(flag.value);
    if (!flag.choices.empty()) option->check(CLI::IsMember(flag.choices));
    return option;
  }
  CLI::Option* operator()(std::vector<std::string>* target) const {
    CLI::Option* const option = app.add_option(flag.name, *target, flag.help);
    option->type_name(flag.value);
    if (flag.name.starts_with('-')) option->allow_extra_args(false);
    if (!flag.choices.empty()) option->check(CLI::IsMember(flag.choices));
    return option;
  }
  CLI::Option* operator()(std::optional<uint64_t>* target) const {
    CLI::Option* const option = app.add_option(flag.name, *target, flag.help);
    return option->type_name(flag.value)->check(whole_number(flag, flag.highest));
  }
  template <typename Number>
  CLI::Option* operator()(Number* target) const {
    CLI::Option* const option = app.add_option(flag.name, *target, flag.help);
    option->type_name(flag.value)->capture_default_str();
    return option->check(whole_number(flag, std::numeric_limits<Number>::max()));
  }
  template <typename Rep, typename Period>
  CLI::Option* operator()(std::chrono::duration<Rep, Period>* target) const {
    using Unit = std::chrono::duration<Rep, Period>;
    CLI::Option* const option = add_duration<Unit>([target](Unit time) { *target = time; });
    return flag.required ? option : option->default_str(common::format_duration(*target));
  }
  template <typename Rep, typename Period>
  CLI::Option* operator()(std::optional<std::chrono::duration<Rep, Period>>* target) const {
    using Unit = std::chrono::duration<Rep, Period>;
    return add_duration<Unit>([target](Unit time) { *target = time; });
  }

  template <typename Unit, typename Set>
  CLI::Option* add_duration(Set set) const {
    const auto read = [set](const std::string& text) { set(read_duration<Unit>(text)); };
    CLI::Option* const option = app.add_option_function<std::string>(flag.name, read, flag.help);
    return option->type_name(flag.value)->check(duration<Unit>(flag));
  }
};

// Breaks a text into lines that fit a terminal, because CLI11 prints it as it is.
std::string wrapped(std::string_view text) {
  constexpr size_t width = 80;
  std::string out;
  size_t column = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(" \n"), text.size());
    if (column > 0 && column + 1 + end > width) {
      out += '\n';
      column = 0;
    }
    if (column > 0 && end > 0) {
      out += ' ';
      ++column;
    }
    out += text.substr(0, end);
    column += end;
    if (end < text.size() && text[end] == '\n') {
      out += '\n';
      column = 0;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void describe(CLI::App& app, const Subcommand& command) {
  app.description(command.summary + "\n\n" + wrapped(command.about));
  for (const Flag& flag : all_flags(command)) {
    std::visit(AddFlag{app, flag}, flag.target)->required(flag.required);
  }
  if (!command.examples.empty()) app.footer("Examples:\n" + command.examples);
}

int report(const Subcommand& command, const Status& status) {
  if (status.ok()) return common::exit_clean;
  const std::string who =
      coloured(fmt::format("perennial {}:", command.name), Colour::Red, STDERR_FILENO);
  std::fprintf(stderr, "%s %s\n", who.c_str(), common::printable(status.message()).c_str());
  return status.code() == StatusCode::InvalidArgument ? common::exit_tool_usage
                                                      : common::exit_failed;
}

int run_to_exit_status(const Subcommand& command) {
  if (!command.run_to_exit_status) return report(command, command.run());
  const Result<int> code = command.run_to_exit_status();
  return code.ok() ? *code : report(command, code.status());
}

// `code`: that of a program that has done its work. It has not if its output was not written.
int with_output_written(const std::string& program, int code) {
  const Status closed = common::close_standard_output();
  if (closed.ok()) return code;
  std::fprintf(stderr, "%s: %s\n", program.c_str(), closed.message().c_str());
  return code == common::exit_clean || code == common::exit_duplicate ? common::exit_failed : code;
}

int run(const Subcommand& command) {
  const std::string program = "perennial " + command.name;
  if (Status silent = keep_quiet(); !silent.ok()) return report(command, silent);
  try {
    return with_output_written(program, run_to_exit_status(command));
  } catch (const std::system_error& error) {
    // fmt::print throws when stdout takes no more.
    std::fprintf(stderr, "%s: write the output: %s\n", program.c_str(),
                 error.code().message().c_str());
    return common::exit_failed;
  }
}

// What is said of arguments that the command does not have. CLI11 would list all of them in an
// order of its own, and say first that an argument is missing behind a mistyped option. Empty: they
// are not what is wrong.
std::string say_unexpected(const CLI::App& app, const CLI::Error& error) {
  std::vector<std::string> unexpected = app.remaining();
  std::erase(unexpected, "--");
  const auto is_option = [](const std::string& text) { return text.starts_with('-'); };
  const auto found = std::ranges::find_if(unexpected, is_option);
  if (found == unexpected.end()) {
    const bool is_wrong = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    if (!is_wrong || unexpected.empty()) return {};
    return fmt::format("'{}' is one argument too many", unexpected.front());
  }
  const std::string name = found->substr(0, found->find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& lname : option->get_lnames()) known.push_back("--" + lname);
  }
  return fmt::format("there is no option '{}'{}", name, suggestion(name, known));
}

// One line that names the command and what is wrong, and one that says where help is.
std::string say_failure(const CLI::App* app, const CLI::Error& error) {
  std::string name = app->get_name();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
    name += " " + app->get_name();
  }
  std::string what = say_unexpected(*app, error);
  if (what.empty()) what = error.what();
  return fmt::format("{0}: {1}\n'{0} --help' says how it is used.\n", name,
                     common::printable(what));
}

// Parses the command line. Nothing: the command is to be run. Otherwise the exit code: help was
// asked for, or the usage is bad.
std::optional<int> parse(CLI::App& app, std::vector<std::string> arguments) {
  app.failure_message(say_failure);
  std::ranges::reverse(arguments);  // As CLI11 wants a vector.
  try {
    app.parse(std::move(arguments));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error) == 0 ? common::exit_clean : common::exit_tool_usage;
    return with_output_written(app.get_name(), code);
  }
}

// Shows each command as one line in the list of commands, without the rest of its own help.
class Formatter : public CLI::Formatter {
 public:
  std::string make_subcommand(const CLI::App* sub) const override {
    const std::string about = sub->get_description();
    std::string line = "  " + sub->get_name();
    line.resize(std::max<size_t>(line.size() + 2, 20), ' ');
    return line + about.substr(0, about.find('\n')) + "\n";
  }
};

// "help set tube" is "set tube --help".
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.emplace_back("--help");
  return arguments;
}

int run_program(const Subcommand& command, std::vector<std::string>& arguments) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return report(command, run_program_beside(command.program, pointers.data() + 1));
}

}  // namespace

int run_command_line(const std::vector<Subcommand>& commands, const std::vector<Group>& groups,
                     int argc, char** argv) {
  common::open_standard_streams();
  std::vector<std::string> arguments = arguments_of(argc, argv);
  if (const std::string why = why_no_command(commands, groups, arguments); !why.empty()) {
    std::fprintf(stderr, "perennial: %s\n", common::printable(why).c_str());
    return common::exit_tool_usage;
  }
  for (const Subcommand& command : commands) {
    if (!command.program.empty() && command.name == arguments[0])
      return run_program(command, arguments);
  }
  CLI::App app("The operator's tool of perennial, the work queue", "perennial");
  app.set_version_flag("-v,--version", "perennial " PERENNIAL_VERSION, "Print the version");
  app.footer("'perennial help COMMAND' says more about one, and so does 'man perennial-COMMAND'.");
  app.formatter(std::make_shared<Formatter>());
  app.require_subcommand(1);
  for (const Group& group : groups) {
    app.add_subcommand(group.name, group.summary)->require_subcommand(1);
  }
  std::vector<CLI::App*> apps;
  for (const Subcommand& command : commands) {
    const size_t space = command.name.find(' ');
    CLI::App& parent =
        space == std::string::npos ? app : *app.get_subcommand(command.name.substr(0, space));
    const std::string name =
        space == std::string::npos ? command.name : command.name.substr(space + 1);
    apps.push_back(parent.add_subcommand(name));
    describe(*apps.back(), command);
  }
  if (const std::optional<int> code = parse(app, std::move(arguments))) return *code;
  for (size_t place = 0; place < apps.size(); ++place) {
    if (apps[place]->parsed()) return run(commands[place]);
  }
  return common::exit_tool_usage;
}

int run_command_line(const Subcommand& command, int argc, char** argv) {
  common::open_standard_streams();
  CLI::App app("", "perennial " + command.name);
  app.set_version_flag("--version", "perennial " PERENNIAL_VERSION, "Print the version");
  describe(app, command);
  if (const std::optional<int> code = parse(app, arguments_of(argc, argv))) return *code;
  return run(command);
}

}  // namespace perennial::tool
