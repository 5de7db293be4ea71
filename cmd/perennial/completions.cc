#include "cmd/perennial/completions.h"

#include <cstdio>
#include <memory>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/common/list.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/subcommands.h"

namespace perennial::tool {
namespace {

// Splits "-n,--lines" into two names.
std::vector<std::string> names_of(const Flag& flag) {
  std::vector<std::string> names;
  for (const std::string_view name : common::list_items(flag.name)) names.emplace_back(name);
  return names;
}

std::string first_word(const std::string& name) {
  return name.substr(0, name.find(' '));
}

// The words that may come next: without a group the first words of commands, within a group the
// second ones.
struct NextWord {
  std::string text;
  std::string summary;
};

std::vector<NextWord> words_of(const std::vector<Subcommand>& commands,
                               const std::vector<Group>& groups, const std::string& group) {
  std::vector<NextWord> words;
  for (const Subcommand& command : commands) {
    const bool is_nested = command.name.find(' ') != std::string::npos;
    if (group.empty() && !is_nested) words.push_back({command.name, command.summary});
    if (!group.empty() && command.name.starts_with(group + " ")) {
      words.push_back({command.name.substr(group.size() + 1), command.summary});
    }
  }
  if (!group.empty()) return words;
  for (const Group& each : groups) words.push_back({each.name, each.summary});
  return words;
}

std::string joined(const std::vector<NextWord>& words) {
  std::string out;
  for (const NextWord& word : words) out += (out.empty() ? "" : " ") + word.text;
  return out;
}

// What bash offers after an option or in place of an argument.
std::string bash_value(const Flag& flag) {
  if (!flag.choices.empty()) {
    return fmt::format("words='{}'", fmt::join(flag.choices, " "));
  }
  if (flag.value == "DIR") return "files=-d";
  if (flag.value == "FILE") return "files=-f";
  return "words=''";
}

std::string bash_command(const Subcommand& command) {
  std::string out = fmt::format("    '{}'*)\n      case $before in\n", command.name);
  std::string options = "--help";
  for (const Flag& flag : all_flags(command)) {
    if (flag.is_argument()) {
      if (!flag.choices.empty()) options += fmt::format(" {}", fmt::join(flag.choices, " "));
      continue;
    }
    const std::vector<std::string> names = names_of(flag);
    options += fmt::format(" {}", fmt::join(names, " "));
    if (flag.value.empty()) continue;
    out += fmt::format("        {}) {} ;;\n", fmt::join(names, " | "), bash_value(flag));
  }
  out += fmt::format("        *)\n          words='{}'\n", options);
  for (const Flag& flag : all_flags(command)) {
    if (!flag.is_argument() || (flag.value != "DIR" && flag.value != "FILE")) continue;
    out += fmt::format("          [[ $word == -* ]] || {}\n", bash_value(flag));
  }
  return out + "          ;;\n      esac\n      ;;\n";
}

// Text for zsh's single quotes, with zsh's separators escaped.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const Flag& flag) {
  if (!flag.choices.empty()) return fmt::format("({})", fmt::join(flag.choices, " "));
  if (flag.value == "DIR") return "_files -/";
  if (flag.value == "FILE") return "_files";
  return " ";
}

std::string zsh_command(const Subcommand& command, std::string_view last_word) {
  std::string out = fmt::format("    {})\n      _arguments '--help[Print the help]'", last_word);
  for (const Flag& flag : all_flags(command)) {
    const bool repeats = std::holds_alternative<std::vector<std::string>*>(flag.target);
    if (flag.is_argument()) {
      out += fmt::format(" \\\n        '{}:{}:{}'", repeats ? "*" : "", zsh_text(flag.name),
                         zsh_value(flag));
      continue;
    }
    for (const std::string& name : names_of(flag)) {
      out += fmt::format(" \\\n        '{}{}[{}]", repeats ? "*" : "", name, zsh_text(flag.help));
      if (!flag.value.empty()) out += fmt::format(":{}:{}", zsh_text(flag.value), zsh_value(flag));
      out += "'";
    }
  }
  return out + "\n      ;;\n";
}

std::string zsh_words(const std::vector<NextWord>& words) {
  std::string out = "  local -a commands=(\n";
  for (const NextWord& word : words) {
    out += fmt::format("    '{}:{}'\n", zsh_text(word.text), zsh_text(word.summary));
  }
  return out + "  )\n";
}

// Writes one function for the tool and one for each group. All examine the word at the same
// position.
std::string zsh_function(const std::string& name, const std::vector<Subcommand>& commands,
                         const std::vector<Group>& groups, const std::string& group) {
  std::string out = fmt::format("{}() {{\n{}", name, zsh_words(words_of(commands, groups, group)));
  out +=
      "  if (( CURRENT == 2 )); then\n    _describe -t commands command commands\n    return\n"
      "  fi\n  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n";
  for (const Subcommand& command : commands) {
    const bool is_nested = command.name.find(' ') != std::string::npos;
    if (group.empty() && !is_nested) out += zsh_command(command, command.name);
    if (!group.empty() && first_word(command.name) == group && is_nested) {
      out += zsh_command(command, command.name.substr(group.size() + 1));
    }
  }
  if (group.empty()) {
    for (const Group& each : groups) out += fmt::format("    {0}) _perennial_{0} ;;\n", each.name);
  }
  return out + "  esac\n}\n\n";
}

// Text in fish's single quotes.
std::string fish_text(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

// What fish offers for the value of an option, or in place of an argument.
std::string fish_value(const Flag& flag) {
  if (!flag.choices.empty()) return fmt::format(" -a '{}'", fmt::join(flag.choices, " "));
  if (flag.value == "DIR") return " -a '(__fish_complete_directories)'";
  return flag.value == "FILE" ? " -F" : "";
}

std::string fish_flag(const Flag& flag, const std::string& begin) {
  if (flag.is_argument()) {
    const std::string value = fish_value(flag);
    return value.empty() ? "" : begin + value + "\n";
  }
  std::string out = begin;
  for (const std::string& name : names_of(flag)) {
    out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!flag.value.empty() || !flag.choices.empty())
    out += (flag.value == "FILE" ? " -r" : " -x") + fish_value(flag);
  return out + " -d " + fish_text(flag.help) + "\n";
}

std::string fish_words(const std::vector<NextWord>& words, const std::string& group) {
  std::string out;
  for (const NextWord& word : words) {
    out += fmt::format("complete -c perennial -n '__perennial_behind {}' -a {} -d {}\n", group,
                       word.text, fish_text(word.summary));
  }
  return out;
}

}  // namespace

std::string bash_completions(const std::vector<Subcommand>& commands,
                             const std::vector<Group>& groups) {
  std::string out = fmt::format(
      "# Completions of perennial for bash. Made by: perennial completions bash\n\n"
      "_perennial() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}}\n"
      "  local command=\"${{COMP_WORDS[*]:1:COMP_CWORD - 1}} \" words='' files=''\n"
      "  case $command in\n"
      "    ' ') words='{}' ;;\n",
      joined(words_of(commands, groups, "")));
  for (const Group& group : groups) {
    out += fmt::format("    '{} ') words='{}' ;;\n", group.name,
                       joined(words_of(commands, groups, group.name)));
  }
  for (const Subcommand& command : commands) {
    Subcommand spaced = command;
    spaced.name += ' ';
    out += bash_command(spaced);
  }
  out +=
      "  esac\n"
      "  if [[ -n $files ]]; then\n"
      "    compopt -o filenames 2>/dev/null\n"
      "    mapfile -t COMPREPLY < <(compgen \"$files\" -- \"$word\")\n"
      "  else\n"
      "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      "  fi\n"
      "}\n"
      "complete -F _perennial perennial\n";
  return out;
}

std::string zsh_completions(const std::vector<Subcommand>& commands,
                            const std::vector<Group>& groups) {
  std::string out =
      "#compdef perennial\n# Completions of perennial for zsh. Made by: perennial completions "
      "zsh\n\n";
  for (const Group& group : groups) {
    out += zsh_function("_perennial_" + group.name, commands, groups, group.name);
  }
  out += zsh_function("_perennial", commands, groups, "");
  return out + "_perennial \"$@\"\n";
}

std::string fish_completions(const std::vector<Subcommand>& commands,
                             const std::vector<Group>& groups) {
  std::string out =
      "# Completions of perennial for fish. Made by: perennial completions fish\n\n"
      "# Whether the words before the cursor begin with these.\n"
      "function __perennial_in\n"
      "  set -l words (commandline -opc)\n"
      "  set -e words[1]\n"
      "  test (count $words) -ge (count $argv); or return 1\n"
      "  for i in (seq (count $argv))\n"
      "    test \"$words[$i]\" = \"$argv[$i]\"; or return 1\n"
      "  end\n"
      "end\n\n"
      "# Whether there are no others.\n"
      "function __perennial_behind\n"
      "  test (count (commandline -opc)) -eq (math (count $argv) + 1); and __perennial_in $argv\n"
      "end\n\n"
      "complete -c perennial -f\n";
  out += fish_words(words_of(commands, groups, ""), "");
  for (const Group& group : groups)
    out += fish_words(words_of(commands, groups, group.name), group.name);
  for (const Subcommand& command : commands) {
    const std::string begin =
        fmt::format("complete -c perennial -n '__perennial_in {}'", command.name);
    out += fmt::format("{} -l help -d 'Print the help'\n", begin);
    for (const Flag& flag : all_flags(command)) out += fish_flag(flag, begin);
  }
  return out;
}

namespace {

struct CompletionsOptions {
  std::string shell;
};

}  // namespace

Subcommand completions_command() {
  const auto options = std::make_shared<CompletionsOptions>();
  return {
      .name = "completions",
      .summary = "Print the completions for a shell",
      .about =
          "Prints a file that lets the shell complete commands, options, directories and "
          "files. The package installs all of them; without it put the output where your shell "
          "looks "
          "for it.",
      .examples =
          "  perennial completions bash > ~/.local/share/bash-completion/completions/"
          "perennial\n"
          "  perennial completions zsh > ~/.zfunc/_perennial\n"
          "  perennial completions fish > ~/.config/fish/completions/perennial.fish\n",
      .flags = {{.name = "SHELL",
                 .value = "",
                 .help = "The shell",
                 .target = &options->shell,
                 .required = true,
                 .choices = {"bash", "zsh", "fish"}}},
      .run =
          [options] {
            const std::vector<Subcommand> commands = all_commands();
            const std::vector<Group> groups = all_groups();
            const std::string text = options->shell == "bash"  ? bash_completions(commands, groups)
                                     : options->shell == "zsh" ? zsh_completions(commands, groups)
                                                               : fish_completions(commands, groups);
            std::fputs(text.c_str(), stdout);
            return Status();
          },
  };
}

}  // namespace perennial::tool
