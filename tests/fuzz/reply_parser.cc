#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/check.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"
#include "wire/client.h"
#include "wire/format.h"

namespace perennial::fuzz {
namespace {

using Pieces = std::vector<std::string_view>;

constexpr uint64_t payload_bytes_maxima[] = {20, 65'535, uint64_t{1} << 30};

// Describes all replies, and the error after them if there is one.
std::vector<std::string> describe_all(const Pieces& pieces, uint64_t payload_bytes_max) {
  std::vector<std::string> out;
  wire::ReplyParser parser(payload_bytes_max);
  for (std::string_view rest : pieces) {
    while (!rest.empty()) {
      const wire::ReplyStep step = parser.feed({rest.data(), rest.size()});
      if (!step.status.ok()) {
        CHECK(!step.reply);
        CHECK(!step.status.message().empty());
        out.emplace_back("garbage");
        return out;
      }
      CHECK(step.consumed <= rest.size());
      CHECK(step.reply ? step.consumed > 0 : step.consumed == rest.size());
      if (step.reply) out.push_back(describe(*step.reply) + " | " + step.reply->text);
      rest.remove_prefix(step.consumed);
    }
  }
  return out;
}

// The payload that the server would write for the reply, parsed again.
std::string payload_of(const Reply& reply) {
  std::string bytes;
  wire::append_reply(bytes, reply);
  wire::ReplyParser parser;
  const wire::ReplyStep step = parser.feed({bytes.data(), bytes.size()});
  CHECK(step.reply);
  CHECK(step.consumed == bytes.size());
  return step.reply->text;
}

// The documents in replies to checkpoint.
void check_checkpoint(std::string_view yaml) {
  if (const auto made = wire::parse_checkpoint(yaml)) {
    const auto again = wire::parse_checkpoint(payload_of(std::make_unique<CheckpointMade>(*made)));
    CHECK(again);
    CHECK(again->name == made->name);
    CHECK(again->path == made->path);
    CHECK(again->commit == made->commit);
    CHECK(again->jobs == made->jobs);
    CHECK(again->bytes == made->bytes);
    CHECK(again->took_ms == made->took_ms);
  }
  if (const auto failed = wire::parse_checkpoint_failure(yaml)) {
    const auto again =
        wire::parse_checkpoint_failure(payload_of(std::make_unique<CheckpointFailed>(*failed)));
    CHECK(again);
    CHECK(again->reason == failed->reason);
  }
}

}  // namespace

void reply_parser(std::string_view input) {
  Choices choices(input);
  const uint64_t payload_bytes_max =
      payload_bytes_maxima[choices.below(std::size(payload_bytes_maxima))];
  std::vector<size_t> lengths(choices.below(16));
  for (size_t& length : lengths) length = choices.number(2);
  const std::string_view whole = choices.rest();
  Choices cutter(whole);
  Pieces pieces;
  for (const size_t length : lengths) pieces.push_back(cutter.piece(length));
  pieces.push_back(cutter.rest());
  Pieces bytes;
  for (size_t i = 0; i < whole.size(); ++i) bytes.push_back(whole.substr(i, 1));

  const std::vector<std::string> want = describe_all({whole}, payload_bytes_max);
  CHECK(describe_all(pieces, payload_bytes_max) == want);
  CHECK(describe_all(bytes, payload_bytes_max) == want);
  check_checkpoint(whole);
}

}  // namespace perennial::fuzz
