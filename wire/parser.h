#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "engine/types/body.h"
#include "engine/types/command.h"
#include "wire/line.h"
#include "wire/stranger.h"

namespace perennial::wire {

// What one call of Parser::feed made of its input.
struct Step {
  size_t consumed = 0;             // A prefix of the input; all of it when there is no command.
  std::optional<Command> command;  // None: more bytes are needed.
  Body body;                       // With a Put only.
  bool no_room = false;  // With a Put only: there was no room for its body, which is gone.
  // Instead of a command: this is no client. Close the connection, and feed nothing more of it.
  std::optional<Stranger> stranger;
};

// Turns the bytes of one connection into commands. It knows no socket, and gives the same commands
// however the bytes are split. Owns the line and the body that are incomplete, nothing else. Never
// fails: bytes that are no command are a command that says so.
class Parser {
 public:
  // `job_bytes_max`: the largest body accepted, in bytes without the CRLF; at most 1 GiB.
  explicit Parser(uint32_t job_bytes_max) : job_bytes_max_(job_bytes_max) {}

  // Takes bytes up to the end of the first command, or all of them. A put's body
  // is kept while it is announced as at most `room` bytes, and else dropped as it arrives: at once,
  // or from the call on in which there is no longer room for all of it.
  // REQUIRES: bytes is not empty.
  Step feed(std::span<const char> bytes, size_t room = SIZE_MAX);

  // The bytes of memory held for what is incomplete.
  size_t held_bytes() const { return lines_.held_bytes() + body_.capacity(); }

 private:
  // What the next byte belongs to.
  enum class Reading : uint8_t { Line, Body, NoRoom, BodyEnd, TooBig };

  void read_line(std::string_view& rest, Step& step);
  void begin_put(std::string_view args, Step& step);
  void read_body(std::string_view& rest, size_t room);
  void skip_body(std::string_view& rest);
  void begin_body_end();
  void read_body_end(std::string_view& rest, Step& step);
  void skip_too_big(std::string_view& rest, Step& step);
  bool skip(std::string_view& rest);

  uint32_t job_bytes_max_;
  Reading reading_ = Reading::Line;
  bool crlf_good_ = false;  // With BodyEnd: no wrong byte yet.
  uint8_t crlf_seen_ = 0;   // With BodyEnd: bytes of the CRLF that came, right or wrong.
  uint64_t skip_left_ = 0;  // With TooBig and NoRoom: bytes still to drop. Counted, never stored.
  bool no_room_ = false;    // With BodyEnd: the body was dropped.
  Put put_{};               // With Body, NoRoom and BodyEnd.
  Body body_;
  LineReader lines_;
  FirstBytes first_;
};

}  // namespace perennial::wire
