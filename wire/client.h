#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/status.h"
#include "wire/line.h"

// The client's side of the protocol, for the tools, the load generator and the tests.
namespace perennial::wire {

// Appends the bytes that ask for this. `body` goes with a Put, whose body_bytes is its size, and
// with nothing else. REQUIRES: `command` is none of the refused ones (PutTooBig, PutTrailingJunk,
// PutNoCrlf, Malformed, a Checkpoint with junk).
void append_command(std::string& out, const Command& command, std::string_view body = {});

// What a server answered. Which members mean something depends on `kind`.
struct ClientReply {
  enum class Kind : uint8_t {
    Word,            // word
    Inserted,        // id
    InsertedBuried,  // id
    Using,           // text: the tube
    Watching,        // count
    Kicked,          // count: the answer to kick. kick-job's is a Word.
    Reserved,        // id, text: the body
    Found,           // likewise
    Ok,              // text: the YAML
    Failed,          // text: the YAML, with the reason. Only checkpoint is answered so.
  };
  Kind kind = Kind::Word;
  Word word = Word::NotFound;
  JobId id = 0;
  uint64_t count = 0;
  std::string text;

  bool is(Word expected) const { return kind == Kind::Word && word == expected; }
};

// What follows the word of a reply.
enum class ReplyShape : uint8_t { Id, Count, Text, Payload, JobPayload };

// The replies that are more than a word: what each begins with, and how it goes on.
struct ReplyRow {
  std::string_view word;
  ClientReply::Kind kind;
  ReplyShape shape;
};
inline constexpr ReplyRow reply_rows[] = {
    {Inserted::word, ClientReply::Kind::Inserted, ReplyShape::Id},
    {"RESERVED", ClientReply::Kind::Reserved, ReplyShape::JobPayload},
    {"FOUND", ClientReply::Kind::Found, ReplyShape::JobPayload},
    {"OK", ClientReply::Kind::Ok, ReplyShape::Payload},
    {"USING", ClientReply::Kind::Using, ReplyShape::Text},
    {Watching::word, ClientReply::Kind::Watching, ReplyShape::Count},
    {KickedCount::word, ClientReply::Kind::Kicked, ReplyShape::Count},
    {InsertedBuried::word, ClientReply::Kind::InsertedBuried, ReplyShape::Id},
    {"FAILED", ClientReply::Kind::Failed, ReplyShape::Payload},
};

// What one call of ReplyParser::feed made of its input.
struct ReplyStep {
  size_t consumed = 0;               // A prefix; all of it when there is no reply.
  std::optional<ClientReply> reply;  // None: more bytes are needed, or the status is bad.
  Status status;                     // Bad: the server does not speak the protocol. Hang up.
};

// Turns the bytes of one server into replies, however they are split.
class ReplyParser {
 public:
  // `payload_bytes_max`: the largest body or YAML document believed.
  explicit ReplyParser(uint64_t payload_bytes_max = uint64_t{1} << 30)
      : payload_bytes_max_(payload_bytes_max) {}

  // REQUIRES: bytes is not empty, and no step before had a bad status.
  ReplyStep feed(std::span<const char> bytes);

 private:
  Status read_line(std::string_view& rest, ReplyStep& step);
  Status read_payload(std::string_view& rest, ReplyStep& step);

  uint64_t payload_bytes_max_;
  std::optional<uint64_t> payload_left_;  // With its CRLF; none while a line is read.
  ClientReply reply_;                     // The one whose payload is being read.
  LineReader lines_;
};

// What the documents say that checkpoint is answered with, Ok and Failed. None: the server is not a
// perennial, or another version.
std::optional<CheckpointMade> parse_checkpoint(std::string_view yaml);
std::optional<CheckpointFailed> parse_checkpoint_failure(std::string_view yaml);

}  // namespace perennial::wire
