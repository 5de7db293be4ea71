#include "cmd/perennial/manual.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/common/duration.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/subcommands.h"

namespace perennial::tool {
namespace {

// Escapes text for troff: special characters, and lines that begin like a request.
std::string troff(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    at_line_start = c == '\n';
  }
  return out;
}

std::string with_dashes(std::string name) {
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string title(const std::string& name) {
  return fmt::format(".TH \"{}\" \"1\" \"\" \"Perennial {}\" \"The work queue Perennial\"\n",
                     troff(upper(name)), PERENNIAL_VERSION);
}

bool may_repeat(const Flag& flag) {
  return std::holds_alternative<std::vector<std::string>*>(flag.target);
}

struct DefaultText {
  std::string operator()(const bool*) const { return {}; }
  std::string operator()(const std::string* value) const { return *value; }
  template <typename Value>
  std::string operator()(const std::optional<Value>*) const {
    return {};
  }
  std::string operator()(const std::vector<std::string>*) const { return {}; }
  template <typename Rep, typename Period>
  std::string operator()(const std::chrono::duration<Rep, Period>* value) const {
    return common::format_duration(*value);
  }
  template <typename Number>
  std::string operator()(const Number* value) const {
    return fmt::format("{}", *value);
  }
};

std::string synopsis(const Subcommand& command) {
  std::string out = fmt::format(".B perennial {}\n", troff(command.name));
  for (const Flag& flag : command.flags) {
    if (flag.is_argument() || !flag.required) continue;
    out += fmt::format("\\fB{}\\fR \\fI{}\\fR\n", troff(flag.name), troff(flag.value));
  }
  out += "[\\fIOPTIONS\\fR]\n";
  for (const Flag& flag : command.flags) {
    if (!flag.is_argument()) continue;
    const std::string dots = may_repeat(flag) ? "..." : "";
    out += flag.required ? fmt::format("\\fI{}\\fR{}\n", troff(flag.name), dots)
                         : fmt::format("[\\fI{}\\fR{}]\n", troff(flag.name), dots);
  }
  return out;
}

std::string option(const Flag& flag) {
  std::string head;
  if (flag.is_argument()) {
    head = fmt::format("\\fI{}\\fR", troff(flag.name));
  } else {
    std::string names = troff(flag.name);
    for (size_t comma = names.find(','); comma != std::string::npos; comma = names.find(',')) {
      names.replace(comma, 1, "\\fR; \\fB");
    }
    std::ranges::replace(names, ';', ',');
    head = fmt::format("\\fB{}\\fR", names);
    if (!flag.value.empty()) head += fmt::format(" \\fI{}\\fR", troff(flag.value));
  }
  std::string text = troff(flag.help);
  if (!flag.choices.empty()) {
    text += fmt::format("; one of {}", troff(fmt::format("{}", fmt::join(flag.choices, ", "))));
  }
  if (!flag.environment.empty())
    text += fmt::format("; else what the environment variable {} says", troff(flag.environment));
  const std::string initial = std::visit(DefaultText(), flag.target);
  if (!initial.empty() && !flag.required) text += fmt::format(" (default {})", troff(initial));
  if (flag.required) text += " (required)";
  return fmt::format(".TP\n{}\n{}.\n", head, text);
}

std::string paragraphs(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find("\n\n"), text.size());
    out += fmt::format(".PP\n{}\n", troff(text.substr(0, end)));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return out;
}

// Those of all subcommands, and then those of one.
std::string exit_status(const std::vector<ExitStatus>& own = {}) {
  std::string out =
      ".SH EXIT STATUS\n"
      "0 when it is done, 1 when it failed, 2 when it was called wrongly";
  for (const ExitStatus& status : own)
    out += fmt::format(", {} {}", status.code, troff(status.when));
  return out + ".\n";
}

}  // namespace

std::string manual_file(const Subcommand& command) {
  return fmt::format("perennial-{}.1", with_dashes(command.name));
}

std::string manual_page(const Subcommand& command) {
  const std::string name = "perennial-" + with_dashes(command.name);
  std::string out = title(name);
  out += fmt::format(".SH NAME\n{} \\- {}\n", troff(name), troff(command.summary));
  out += ".SH SYNOPSIS\n" + synopsis(command);
  out += ".SH DESCRIPTION\n" + paragraphs(command.about);
  out += ".SH OPTIONS\n";
  for (const Flag& flag : all_flags(command)) out += option(flag);
  if (!command.examples.empty()) {
    out += fmt::format(".SH EXAMPLES\n.nf\n{}.fi\n", troff(command.examples));
  }
  out += exit_status(command.exit_statuses);
  out += ".SH SEE ALSO\n.BR perennial (1),\n.BR perenniald (8)\n";
  return out;
}

std::string manual_page(const std::vector<Subcommand>& commands) {
  std::string out = title("perennial");
  out += ".SH NAME\nperennial \\- the operator's tool of perenniald, the work queue\n";
  out += ".SH SYNOPSIS\n.B perennial\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR] ...\n";
  out +=
      ".SH DESCRIPTION\n"
      "Looks into data directories and checkpoints, makes and restores checkpoints, brings jobs "
      "in\n"
      "and out, and talks to running servers. Each command has a page of its own, and says what "
      "it\n"
      "takes with \\fB\\-\\-help\\fR. Results go to standard output; everything else to standard\n"
      "error.\n.SH COMMANDS\n";
  for (const Subcommand& command : commands) {
    const std::string page = "perennial-" + with_dashes(command.name);
    out += fmt::format(".TP\n.BR {} (1)\n{}.\n", troff(page), troff(command.summary));
  }
  out += exit_status();
  out += ".SH SEE ALSO\n.BR perenniald (8)\n";
  return out;
}

namespace {

struct ManualOptions {
  std::vector<std::string> command;  // The words of the command. Empty: the tool itself.
};

Status print_manual(const ManualOptions& options) {
  const std::vector<Subcommand> commands = all_commands();
  const std::string wanted = fmt::format("{}", fmt::join(options.command, " "));
  const auto found = std::ranges::find(commands, wanted, &Subcommand::name);
  if (!wanted.empty() && found == commands.end()) {
    return {StatusCode::InvalidArgument, fmt::format("there is no command '{}'", wanted)};
  }
  std::fputs((wanted.empty() ? manual_page(commands) : manual_page(*found)).c_str(), stdout);
  return {};
}

}  // namespace

Subcommand manual_command() {
  const auto options = std::make_shared<ManualOptions>();
  return {
      .name = "manual",
      .summary = "Print a page of the manual",
      .about =
          "Prints the page for man(1) of one command, or of the tool itself, as it is "
          "installed with the package.",
      .examples =
          "  perennial manual dump | man -l -\n"
          "  perennial manual checkpoint create | man -l -\n",
      .flags = {{"COMMAND", "", "The command", &options->command}},
      .run = [options] { return print_manual(*options); },
  };
}

}  // namespace perennial::tool
