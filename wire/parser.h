#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/types/body.h"
#include "engine/types/command.h"
#include "wire/foreign_protocol.h"
#include "wire/line.h"

namespace perennial::wire {

// The result of one call of Parser::feed.
struct Step {
  // The length of the prefix that was read. The whole input when there is no command.
  size_t consumed = 0;
  std::optional<Command> command;  // Without a value: more bytes are needed.
  Body body;                       // With a Put or a SetSchedule only.
  std::vector<Body> bodies;        // With a PutBatch only: one for each item, in order.
  // With a Put, a PutBatch or a SetSchedule only: there was no space for the body or the items,
  // which were dropped. A note for which there was no space has no text.
  bool body_dropped = false;
  // Set instead of a command: the connection speaks a foreign protocol. The caller closes the
  // connection and feeds no more of its bytes.
  std::optional<ForeignProtocol> foreign_protocol;
};

// Turns the bytes of one connection into commands. Any split of the bytes gives the same commands.
// Owns the incomplete line and the incomplete body. The parser never fails: bytes that are no
// command give a command that says so.
class Parser {
 public:
  // `job_bytes_max` is the largest body that is accepted, in bytes without the CRLF; at most 1 GiB.
  // `allowed`: the extensions whose commands and options are read.
  explicit Parser(uint32_t job_bytes_max, ExtensionSet allowed = ExtensionSet::all())
      : job_bytes_max_(job_bytes_max), allowed_(allowed), lines_(allowed) {}

  // Reads bytes up to the end of the first command, or all of them. `body_bytes_left` is the memory
  // in bytes that the body of a put may use. A body that is announced as larger is dropped as it
  // arrives, and so is one for which this limit becomes too small while it arrives. REQUIRES:
  // `bytes` is not empty.
  Step feed(std::span<const char> bytes, size_t body_bytes_left = SIZE_MAX);

  // Overwrites what is held of lines, which may be a secret. REQUIRES: the last line is complete,
  // or no further bytes are fed.
  void wipe_line() { lines_.wipe(); }

  // The memory of the incomplete line and the incomplete body, in bytes.
  size_t held_bytes() const { return lines_.held_bytes() + body_.capacity(); }

 private:
  // What the next byte is part of.
  enum class Reading : uint8_t { Line, Body, DroppedBody, BodyEnd, Refused };

  void read_line(std::string_view& rest, Step& step);
  void begin_put(std::string_view args, Step& step);
  void begin_batch(std::string_view args, Step& step);
  void begin_note(std::string_view args, Step& step);
  void begin_schedule(std::string_view args, Step& step);
  void read_body(std::string_view& rest, size_t body_bytes_left);
  void skip_body(std::string_view& rest);
  void begin_body_end();
  void read_body_end(std::string_view& rest, Step& step);
  void end_batch(const Body& items, Step& step);
  void end_note(const Body& text, Step& step);
  void end_schedule(Body&& body, Step& step);
  void begin_refusal(Command command, uint64_t body_bytes);
  void skip_refused(std::string_view& rest, Step& step);
  bool skip(std::string_view& rest);

  uint32_t job_bytes_max_;
  ExtensionSet allowed_;
  Reading reading_ = Reading::Line;
  bool crlf_good_ = false;  // With BodyEnd: no wrong byte so far.
  // With BodyEnd: how many bytes of the CRLF have arrived, right or wrong.
  uint8_t crlf_seen_ = 0;
  // With Refused and DroppedBody: how many bytes are still to be dropped.
  uint64_t skip_left_ = 0;
  bool body_dropped_ = false;  // With BodyEnd: the body was dropped.
  // With Body, DroppedBody and BodyEnd. In a batch only the size is used, that of all items, and in
  // a note that of its text.
  Put put_{};
  // The put-batch whose items are being read, or the note whose text is, or the schedule whose body
  // is, and with Refused the command that says why. All are seldom there.
  std::unique_ptr<PutBatch> batch_;
  std::unique_ptr<NoteJob> note_;
  std::unique_ptr<SetSchedule> schedule_;
  std::unique_ptr<Command> refused_;
  Body body_;
  LineReader lines_;
  FirstBytes first_;
  // How many empty lines the connection has begun with, or no_signature: the header of version 2 of
  // the PROXY protocol begins with two.
  static constexpr int no_signature = 3;
  int empty_lines_ = 0;
};

}  // namespace perennial::wire
