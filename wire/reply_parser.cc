#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/client.h"

namespace perennial::wire {
namespace {

// A payload of at most this size gets its capacity at once. A larger one grows as it arrives,
// because the size that a server announces may be wrong.
constexpr uint64_t reserved_bytes_max = uint64_t{64} * 1024;

Status garbage(std::string_view what, std::string_view line) {
  constexpr size_t shown_bytes_max = 60;
  return Status(StatusCode::InvalidArgument,
                fmt::format("not a reply of beanstalkd's protocol: {}: {:?}", what,
                            line.substr(0, shown_bytes_max)));
}

// Parses a number if `text` consists of digits only.
bool parse(std::string_view text, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

// Returns the row of a word. `is_alone` says that nothing follows the word on its line.
const ReplyRow* find_row(std::string_view word, bool is_alone) {
  const auto is_it = [&](const ReplyRow& row) {
    return row.text == word && (row.shape == ReplyShape::Nothing) == is_alone;
  };
  const ReplyRow* const row = std::ranges::find_if(reply_rows, is_it);
  return row == std::end(reply_rows) ? nullptr : row;
}

// Whether a line that is not complete can still become a reply. So what answers is known to be
// another program by its first bytes, and not when it has sent a whole line or closed.
bool may_become_reply(std::string_view beginning) {
  const size_t end = beginning.find_first_of(" \r");
  const std::string_view word = beginning.substr(0, end);
  return std::ranges::any_of(reply_rows, [&](const ReplyRow& row) {
    return end == std::string_view::npos ? row.text.starts_with(word) : row.text == word;
  });
}

// Removes a word from the front, and the space behind it.
std::string_view next_word(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

// A put whose key is taken is answered with a state behind the id.
bool parse_number(std::string_view args, ClientReply& reply) {
  const bool is_good = parse(next_word(args), reply.number);
  reply.text = args;
  return is_good && (args.empty() || reply.word == Word::Inserted);
}

// There is at least one.
bool parse_numbers(std::string_view args, ClientReply& reply) {
  do {
    if (!parse(next_word(args), reply.numbers.emplace_back())) return false;
  } while (!args.empty());
  reply.number = reply.numbers.front();
  return true;
}

// Whether each word has a name and a colon: "tube:mail pri:5". There may be none.
bool are_facts(std::string_view text) {
  while (!text.empty()) {
    if (next_word(text).find(':') == std::string_view::npos) return false;
  }
  return true;
}

// Fills in the reply from its arguments, and `payload_bytes` if a payload follows.
bool parse_arguments(std::string_view args, ReplyShape shape, ClientReply& reply,
                     std::optional<uint64_t>& payload_bytes) {
  switch (shape) {
    case ReplyShape::Nothing:
      return true;
    case ReplyShape::Number:
      return parse_number(args, reply);
    case ReplyShape::Numbers:
      return parse_numbers(args, reply);
    case ReplyShape::Text:
      reply.text = args;
      return !args.empty();
    case ReplyShape::Payload:
      return parse(args, payload_bytes.emplace());
    case ReplyShape::JobPayload:
      break;
  }
  std::string_view rest = args;
  const bool is_good =
      parse(next_word(rest), reply.number) && parse(next_word(rest), payload_bytes.emplace());
  reply.facts = rest;
  return is_good && are_facts(rest);
}

bool parse_line(std::string_view line, ClientReply& reply, std::optional<uint64_t>& payload_bytes) {
  const size_t space = std::min(line.find(' '), line.size());
  const bool is_alone = space == line.size();
  const ReplyRow* const row = find_row(line.substr(0, space), is_alone);
  if (row == nullptr) return false;
  reply.word = row->word;
  return parse_arguments(is_alone ? line : line.substr(space + 1), row->shape, reply,
                         payload_bytes);
}

}  // namespace

std::string describe(const ClientReply& reply) {
  const ReplyRow& row = row_of(reply.word);
  switch (row.shape) {
    case ReplyShape::Nothing:
      break;
    case ReplyShape::Number:
      return fmt::format("{} {}", row.text, reply.number);
    case ReplyShape::Numbers:
      return fmt::format("{} {}", row.text, fmt::join(reply.numbers, " "));
    case ReplyShape::Text:
      return fmt::format("{} {}", row.text, reply.text);
    case ReplyShape::Payload:
      return fmt::format("{} {}", row.text, reply.text.size());
    case ReplyShape::JobPayload:
      return fmt::format("{} {} {}", row.text, reply.number, reply.text.size());
  }
  return std::string(row.text);
}

ReplyStep ReplyParser::feed(std::span<const char> bytes) {
  CHECK(!bytes.empty());
  ReplyStep step;
  std::string_view rest(bytes.data(), bytes.size());
  while (!rest.empty() && !step.reply && step.status.ok()) {
    step.status = payload_left_ ? read_payload(rest, step) : read_line(rest, step);
  }
  step.consumed = bytes.size() - rest.size();
  return step;
}

Status ReplyParser::read_line(std::string_view& rest, ReplyStep& step) {
  const LineReader::Got got = lines_.take(rest);
  if (got == LineReader::Got::TooLong || lines_.too_long()) return garbage("line too long", "");
  if (got == LineReader::Got::Nothing) {
    const std::string_view beginning = lines_.beginning();
    return may_become_reply(beginning) ? Status() : garbage("line", beginning);
  }
  ClientReply reply;
  std::optional<uint64_t> payload_bytes;
  if (!parse_line(lines_.line(), reply, payload_bytes)) return garbage("line", lines_.line());
  if (!payload_bytes) {
    step.reply = std::move(reply);
    return Status();
  }
  if (*payload_bytes > payload_bytes_max_) return garbage("payload too big", lines_.line());
  reply.text.reserve(std::min(*payload_bytes + 2, reserved_bytes_max));
  reply_ = std::move(reply);
  payload_left_ = *payload_bytes + 2;
  return Status();
}

// The CRLF is read as a part of the payload, and then removed.
Status ReplyParser::read_payload(std::string_view& rest, ReplyStep& step) {
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(rest.size(), *payload_left_));
  reply_.text.append(rest.substr(0, taken));
  rest.remove_prefix(taken);
  *payload_left_ -= taken;
  if (*payload_left_ > 0) return Status();
  if (!reply_.text.ends_with("\r\n")) return garbage("payload without CRLF", reply_.text);
  reply_.text.resize(reply_.text.size() - 2);
  payload_left_.reset();
  step.reply = std::move(reply_);
  return Status();
}

}  // namespace perennial::wire
