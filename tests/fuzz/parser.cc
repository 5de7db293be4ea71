#include "wire/parser.h"

#include <string>
#include <vector>

#include "engine/types/check.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"
#include "tests/wire/describe.h"
#include "wire/client.h"

namespace perennial::fuzz {
namespace {

using Pieces = std::vector<std::string_view>;

constexpr size_t small_body_limit = 10;
constexpr uint32_t job_bytes_maxima[] = {20, 300, 65'535, uint32_t{1} << 30};

// The input begins with the way to split it: a count, and that many lengths of two bytes.
Pieces cut(Choices& choices) {
  std::vector<size_t> lengths(choices.below(16));
  for (size_t& length : lengths) length = choices.number(2);
  Pieces pieces;
  for (const size_t length : lengths) pieces.push_back(choices.piece(length));
  pieces.push_back(choices.rest());
  return pieces;
}

Pieces byte_by_byte(std::string_view bytes) {
  Pieces pieces;
  for (size_t i = 0; i < bytes.size(); ++i) pieces.push_back(bytes.substr(i, 1));
  return pieces;
}

bool is_refusal(const Command& command) {
  const auto* const checkpoint = std::get_if<Checkpoint>(&command);
  return std::holds_alternative<PutTooBig>(command) ||
         std::holds_alternative<PutTrailingJunk>(command) ||
         std::holds_alternative<PutNoCrlf>(command) ||
         std::holds_alternative<PutBatchRefused>(command) ||
         std::holds_alternative<NoteRefused>(command) ||
         std::holds_alternative<ScheduleRefused>(command) ||
         std::holds_alternative<Malformed>(command) ||
         (checkpoint != nullptr && checkpoint->trailing_junk);
}

// The bytes that a client would send for a command must parse to that command. Of a batch they are
// those of each of its items.
void check_said_again(const wire::Step& step, uint32_t job_bytes_max) {
  if (is_refusal(*step.command) || std::holds_alternative<PutBatch>(*step.command)) return;
  std::string bytes;
  wire::append_command(bytes, *step.command, step.body.view());
  const std::vector<std::string> again = wire::describe_all({bytes}, job_bytes_max);
  CHECK(again.size() == 1);
  CHECK(again[0] == wire::describe(*step.command, step.body.view()));
}

// A client that announces a large body and does not send it must not cost the memory of that body.
void check_memory(std::string_view bytes, uint32_t job_bytes_max) {
  constexpr size_t little_bytes = 128 << 10;
  wire::Parser parser(job_bytes_max);
  size_t fed_bytes = 0;
  while (!bytes.empty()) {
    const wire::Step step = parser.feed({bytes.data(), bytes.size()});
    fed_bytes += step.consumed;
    bytes.remove_prefix(step.consumed);
    CHECK(parser.held_bytes() <= little_bytes + 2 * fed_bytes);
    if (step.foreign_protocol) return;
    if (step.command) check_said_again(step, job_bytes_max);
  }
}

}  // namespace

void parser(std::string_view input) {
  Choices choices(input);
  const uint32_t job_bytes_max = job_bytes_maxima[choices.below(std::size(job_bytes_maxima))];
  const Pieces pieces = cut(choices);
  std::string whole;
  for (const std::string_view piece : pieces) whole += piece;
  const std::vector<std::string> want = wire::describe_all({whole}, job_bytes_max);
  CHECK(wire::describe_all(pieces, job_bytes_max) == want);
  CHECK(wire::describe_all(byte_by_byte(whole), job_bytes_max) == want);
  CHECK(wire::describe_all(pieces, job_bytes_max, small_body_limit) ==
        wire::describe_all({whole}, job_bytes_max, small_body_limit));
  check_memory(whole, job_bytes_max);
}

}  // namespace perennial::fuzz
