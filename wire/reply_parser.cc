#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "wire/client.h"
#include "wire/words.h"

namespace perennial::wire {
namespace {

using Kind = ClientReply::Kind;

// A payload of up to this gets its whole room at once, a larger one as it arrives.
constexpr uint64_t room_at_once_bytes = uint64_t{64} * 1024;

Status garbage(std::string_view what, std::string_view line) {
  constexpr size_t shown_bytes_max = 60;
  return Status(StatusCode::InvalidArgument,
                fmt::format("not a reply of beanstalkd's protocol: {}: {:?}", what,
                            line.substr(0, shown_bytes_max)));
}

// Digits only, all of `text`.
bool parse(std::string_view text, uint64_t& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stopped == end;
}

std::optional<Word> find_word(std::string_view line) {
  const auto found = std::find(word_texts.begin(), word_texts.end(), line);
  if (found == word_texts.end()) return std::nullopt;
  return static_cast<Word>(found - word_texts.begin());
}

// Fills the reply from its arguments, and `payload_bytes` if one follows.
bool parse_arguments(std::string_view args, ReplyShape shape, ClientReply& reply,
                     std::optional<uint64_t>& payload_bytes) {
  switch (shape) {
    case ReplyShape::Id:
      return parse(args, reply.id);
    case ReplyShape::Count:
      return parse(args, reply.count);
    case ReplyShape::Text:
      reply.text = args;
      return !args.empty();
    case ReplyShape::Payload:
      return parse(args, payload_bytes.emplace());
    case ReplyShape::JobPayload:
      break;
  }
  const size_t space = std::min(args.find(' '), args.size());
  return parse(args.substr(0, space), reply.id) && space < args.size() &&
         parse(args.substr(space + 1), payload_bytes.emplace());
}

bool parse_line(std::string_view line, ClientReply& reply, std::optional<uint64_t>& payload_bytes) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) {
    const std::optional<Word> word = find_word(line);
    reply.kind = Kind::Word;
    reply.word = word.value_or(Word::InternalError);
    return word.has_value();
  }
  const ReplyRow* const row = std::find_if(
      std::begin(reply_rows), std::end(reply_rows),
      [&](const ReplyRow& candidate) { return candidate.word == line.substr(0, space); });
  if (row == std::end(reply_rows)) return false;
  reply.kind = row->kind;
  return parse_arguments(line.substr(space + 1), row->shape, reply, payload_bytes);
}

}  // namespace

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
  if (got == LineReader::Got::Nothing) return Status();
  ClientReply reply;
  std::optional<uint64_t> payload_bytes;
  if (!parse_line(lines_.line(), reply, payload_bytes)) return garbage("line", lines_.line());
  if (!payload_bytes) {
    step.reply = std::move(reply);
    return Status();
  }
  if (*payload_bytes > payload_bytes_max_) return garbage("payload too big", lines_.line());
  reply.text.reserve(std::min(*payload_bytes + 2, room_at_once_bytes));
  reply_ = std::move(reply);
  payload_left_ = *payload_bytes + 2;
  return Status();
}

// The CRLF is read as a part of the payload, and then taken off.
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
