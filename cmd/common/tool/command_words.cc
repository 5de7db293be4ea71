#include "cmd/common/tool/command_words.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace perennial::tool {
namespace {

// How many letters were mistyped, where two that are swapped count as one: the optimal string
// alignment distance. Quadratic, for words of people.
size_t distance(std::string_view from, std::string_view to) {
  const size_t width = to.size() + 1;
  std::vector<size_t> rows((from.size() + 1) * width);
  const auto at = [&](size_t i, size_t j) -> size_t& { return rows[i * width + j]; };
  for (size_t i = 0; i <= from.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= to.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t changed = from[i - 1] == to[j - 1] ? 0 : 1;
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + changed});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return at(from.size(), to.size());
}

constexpr size_t word_letters_max = 40;  // Nobody mistypes a longer one.

std::string first_word(const std::string& name) {
  return name.substr(0, name.find(' '));
}

std::string second_word(const std::string& name) {
  const size_t space = name.find(' ');
  return space == std::string::npos ? std::string() : name.substr(space + 1);
}

// The second words of the commands of a group: "job" and "tube" of "set".
std::vector<std::string> words_of_group(const std::vector<Subcommand>& commands,
                                        const std::string& group) {
  std::vector<std::string> words;
  for (const Subcommand& command : commands) {
    if (first_word(command.name) == group) words.push_back(second_word(command.name));
  }
  return words;
}

bool holds(std::span<const std::string> words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

// A command whose second word stands alone: "handover" instead of "cluster handover".
std::string without_its_group(const std::vector<Subcommand>& commands, const std::string& word) {
  for (const Subcommand& command : commands) {
    if (!word.empty() && second_word(command.name) == word) return command.name;
  }
  return {};
}

}  // namespace

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  if (word.size() > word_letters_max) return {};
  const std::string* nearest = nullptr;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const size_t apart = distance(word, candidate);
    if (apart >= least) continue;
    least = apart;
    nearest = &candidate;
  }
  return nearest == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *nearest);
}

std::string why_no_command(const std::vector<Subcommand>& commands,
                           const std::vector<Group>& groups,
                           std::span<const std::string> arguments) {
  if (arguments.empty()) return "which command? 'perennial help' lists them";
  const std::string& word = arguments[0];
  if (word.starts_with('-')) return {};
  std::vector<std::string> known;
  known.reserve(groups.size());
  for (const Group& group : groups) known.push_back(group.name);
  const bool is_group = holds(known, word);
  for (const Subcommand& command : commands) {
    if (second_word(command.name).empty()) known.push_back(command.name);
  }
  if (!holds(known, word)) {
    const std::string grouped = without_its_group(commands, word);
    const std::string meant =
        grouped.empty() ? suggestion(word, known) : fmt::format("; did you mean '{}'?", grouped);
    return fmt::format("there is no command '{}'{}{}", word, meant,
                       meant.empty() ? "; 'perennial help' lists them" : "");
  }
  if (!is_group) return {};
  const std::vector<std::string> seconds = words_of_group(commands, word);
  if (arguments.size() == 1) {
    return fmt::format("which command? '{0} {1}'", word,
                       fmt::join(seconds, fmt::format("' or '{} ", word)));
  }
  const std::string& second = arguments[1];
  if (second.starts_with('-') || holds(seconds, second)) return {};
  std::vector<std::string> names;
  names.reserve(seconds.size());
  for (const std::string& known_second : seconds) names.push_back(word + " " + known_second);
  const std::string name = word + " " + second;
  return fmt::format("there is no command '{}'{}", name, suggestion(name, names));
}

}  // namespace perennial::tool
