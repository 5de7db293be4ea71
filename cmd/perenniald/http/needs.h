#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/perenniald/access/users.h"
#include "engine/types/command.h"

namespace perennial::http {

// What a caller needs for a path, where there are users. Each row of a table of paths has one; it
// has no value by default, so a row without it does not compile. etc/docs/http.md shows them.
class Needs {
 public:
  // The most commands that one path may stand for.
  static constexpr size_t commands_max = 4;

  // No verb. `text`, in Markdown, says so, and which part of the answer is for whom.
  static constexpr Needs nothing(std::string_view text) { return Needs({}, {}, text, true); }
  // Also of whoever has not signed in.
  static constexpr Needs nothing_of_anybody() {
    return nothing("nothing; before anybody signs in, too");
  }
  // A verb that belongs to no tube. It is asked for before the function of the row is called.
  static constexpr Needs verb(access::Verb verb) { return Needs(verb, {}, {}); }
  // What the queue asks of a client that sends one of these commands. The function of the row
  // sends the command as such a client, or lets core judge it: Api::refused.
  template <typename... Commands>
  static constexpr Needs commands() {
    return Needs({}, {command_row<Commands>().word()...}, {});
  }
  // The function of the row decides by what is asked for. `how`, in Markdown: by which rule.
  static constexpr Needs judged(std::string_view how) { return Needs({}, {}, how); }

  constexpr std::optional<access::Verb> verb() const { return verb_; }
  // Nobody is refused, whatever is asked for.
  constexpr bool is_nothing() const { return is_nothing_; }
  // The words of the commands. Those behind the last one are empty.
  constexpr const std::array<std::string_view, commands_max>& commands() const { return commands_; }
  // Empty: verb() or commands() say all.
  constexpr std::string_view text() const { return text_; }

 private:
  constexpr Needs(std::optional<access::Verb> verb,
                  std::array<std::string_view, commands_max> commands, std::string_view text,
                  bool is_nothing = false)
      : verb_(verb), commands_(commands), text_(text), is_nothing_(is_nothing) {}

  std::optional<access::Verb> verb_;
  std::array<std::string_view, commands_max> commands_;
  std::string_view text_;
  bool is_nothing_;
};

// What openapi.json and the table of etc/docs/http.md say: "`admin`", "as `peek`", or the text.
std::string text_of(const Needs& needs);

}  // namespace perennial::http
