#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/command.h"
#include "engine/types/reply.h"
#include "engine/types/status.h"
#include "wire/line.h"

// The client's side of the protocol, for the tools, the load generator and the tests.
namespace perennial::wire {

// Appends the bytes of a command. `body` belongs to a Put, whose body_bytes is its size, or holds
// the items of a PutBatch, as append_item() makes them, whose bytes is their size. It is empty for
// every other command. REQUIRES: `command` is not one of the refused lines (PutTooBig,
// PutTrailingJunk, PutNoCrlf, PutBatchRefused, NoteRefused, Malformed, a Checkpoint with trailing
// junk).
void append_command(std::string& out, const Command& command, std::string_view body = {});

// Appends an item of a put-batch to those before it. `put.body_bytes` is the size of the body.
void append_item(std::string& items, const Put& put, std::string_view body);

// What a server answered. The shape of the word's row says which members have a meaning.
struct ClientReply {
  Word word = Word::NotFound;
  uint64_t number = 0;  // The id or the count; the first of several numbers.
  // The name of the tube, the YAML, the body, or the state of the job that has a put's key.
  std::string text;
  // All numbers of a batch. What follows the line of INSERTED_BATCH and RESERVED_BATCH, a reply for
  // each item, comes as replies of their own.
  std::vector<uint64_t> numbers = {};
  std::string facts = {};  // What `with:` asked for: "tube:mail pri:5".

  bool is(Word expected) const { return word == expected; }
};
// The line of the reply, for people: "NOT_FOUND", "INSERTED 5", "OK 4".
std::string describe(const ClientReply& reply);

// The result of one call of ReplyParser::feed.
struct ReplyStep {
  // The length of the prefix that was read. The whole input when there is no reply.
  size_t consumed = 0;
  // Without a value: more bytes are needed, or the status is an error.
  std::optional<ClientReply> reply;
  // An error if the server does not speak the protocol. The caller closes the connection.
  Status status;
};

// Turns the bytes of one server into replies. Any split of the bytes gives the same replies.
class ReplyParser {
 public:
  // `payload_bytes_max` is the largest body or YAML document that is accepted, in bytes.
  explicit ReplyParser(uint64_t payload_bytes_max = uint64_t{1} << 30)
      : payload_bytes_max_(payload_bytes_max) {}

  // REQUIRES: `bytes` is not empty, and no earlier step had an error.
  ReplyStep feed(std::span<const char> bytes);

 private:
  Status read_line(std::string_view& rest, ReplyStep& step);
  Status read_payload(std::string_view& rest, ReplyStep& step);

  uint64_t payload_bytes_max_;
  // The bytes of the payload and its CRLF that are still to come. Without a value while a line is
  // read.
  std::optional<uint64_t> payload_left_;
  ClientReply reply_;  // The reply whose payload is being read.
  LineReader lines_ = LineReader::of_replies();
};

// Parse the documents that answer checkpoint, OK and FAILED. Without a value: the server is not a
// perennial, or another version.
std::optional<CheckpointMade> parse_checkpoint(std::string_view yaml);
std::optional<CheckpointFailed> parse_checkpoint_failure(std::string_view yaml);

// A note as a server tells it.
struct ToldNote {
  uint32_t number = 0;
  uint32_t attempt = 0;
  std::string time = {};  // RFC 3339, UTC.
  std::string user = {};
  std::string text = {};  // UTF-8.
};
// Parses the document that answers list-notes. Without a value: it is none.
std::optional<std::vector<ToldNote>> parse_notes(std::string_view yaml);

}  // namespace perennial::wire
