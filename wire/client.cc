#include "wire/client.h"

#include <tuple>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::wire {
namespace {

void append_part(std::string& out, uint64_t number) {
  const fmt::format_int text(number);
  out.append(text.data(), text.size());
}
void append_part(std::string& out, std::string_view text) {
  out += text;
}

// A line is a word, then its arguments, a space before each.
template <typename C>
void append_line(std::string& out, const C& command) {
  out += command_row<C>().word();
  std::apply(
      [&](const auto&... args) { ((out += ' ', append_part(out, command.*args.member)), ...); },
      command_row<C>().arguments);
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
  void operator()(const Checkpoint& checkpoint) const {
    CHECK(!checkpoint.trailing_junk);
    out += command_row<Checkpoint>().word();
    out += checkpoint.temporary ? " temporary\r\n" : "\r\n";
  }
  void operator()(const PutTooBig&) const { refuse(); }
  void operator()(const PutTrailingJunk&) const { refuse(); }
  void operator()(const PutNoCrlf&) const { refuse(); }
  void operator()(const Malformed&) const { refuse(); }

  static void refuse() { CHECK(!"a client asks only for what is a command"); }
};

}  // namespace

void append_command(std::string& out, const Command& command, std::string_view body) {
  CHECK(body.empty() || std::holds_alternative<Put>(command));
  std::visit(Appender{out, body}, command);
}

}  // namespace perennial::wire
