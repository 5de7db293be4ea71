#include "wire/parser.h"

#include <algorithm>
#include <utility>

#include "engine/types/check.h"
#include "wire/command_line.h"

namespace perennial::wire {

Step Parser::feed(std::span<const char> bytes, size_t room) {
  CHECK(!bytes.empty());
  Step step;
  std::string_view rest(bytes.data(), bytes.size());
  if (!first_.decided()) step.stranger = first_.take(rest);
  while (!rest.empty() && !step.command && !step.stranger) {
    switch (reading_) {
      case Reading::Line:
        read_line(rest, step);
        break;
      case Reading::Body:
        read_body(rest, room);
        break;
      case Reading::NoRoom:
        skip_body(rest);
        break;
      case Reading::BodyEnd:
        read_body_end(rest, step);
        break;
      case Reading::TooBig:
        skip_too_big(rest, step);
        break;
    }
  }
  if (step.stranger) rest = {};
  step.consumed = bytes.size() - rest.size();
  return step;
}

void Parser::read_line(std::string_view& rest, Step& step) {
  const LineReader::Got got = lines_.take(rest);
  if (got == LineReader::Got::Nothing) return;
  const std::string_view line = lines_.line();
  const bool whole = got == LineReader::Got::Line;
  if (is_host_header(whole ? line : lines_.dropped_head())) {
    step.stranger = Stranger::Http;
  } else if (!whole || line.find('\0') != std::string_view::npos) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line.starts_with(put_prefix)) {
    begin_put(line.substr(put_prefix.size()), step);
  } else {
    step.command = parse_command_line(line);
  }
}

// The order of these checks is beanstalkd's, and clients can see it: a body that is too big is
// swallowed even when its line has trailing junk; that of any other bad line is not.
void Parser::begin_put(std::string_view args, Step& step) {
  const std::optional<PutLine> line = parse_put_line(args);
  if (!line) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line->put.body_bytes > job_bytes_max_) {
    skip_left_ = uint64_t{line->put.body_bytes} + 2;
    reading_ = Reading::TooBig;
  } else if (line->trailing_junk) {
    step.command = PutTrailingJunk{};
  } else {
    put_ = line->put;
    reading_ = Reading::Body;
  }
}

void Parser::read_body(std::string_view& rest, size_t room) {
  if (put_.body_bytes > room) {
    skip_left_ = put_.body_bytes - body_.size();
    body_ = Body();
    reading_ = Reading::NoRoom;
    return;
  }
  const size_t taken = std::min(rest.size(), put_.body_bytes - body_.size());
  body_.append({rest.data(), taken}, put_.body_bytes);
  rest.remove_prefix(taken);
  if (body_.size() == put_.body_bytes) begin_body_end();
}

void Parser::skip_body(std::string_view& rest) {
  if (!skip(rest)) return;
  begin_body_end();
  no_room_ = true;
}

void Parser::begin_body_end() {
  crlf_seen_ = 0;
  crlf_good_ = true;
  no_room_ = false;
  reading_ = Reading::BodyEnd;
}

void Parser::read_body_end(std::string_view& rest, Step& step) {
  while (!rest.empty() && crlf_seen_ < 2) {
    crlf_good_ = crlf_good_ && rest.front() == (crlf_seen_ == 0 ? '\r' : '\n');
    ++crlf_seen_;
    rest.remove_prefix(1);
  }
  if (crlf_seen_ < 2) return;
  reading_ = Reading::Line;
  Body body = std::exchange(body_, Body());
  if (crlf_good_) {
    step.command = put_;
    step.body = std::move(body);
    step.no_room = no_room_;
  } else {
    step.command = PutNoCrlf{};
  }
}

void Parser::skip_too_big(std::string_view& rest, Step& step) {
  if (!skip(rest)) return;
  reading_ = Reading::Line;
  step.command = PutTooBig{};
}

// Whether all that was to be dropped has been.
bool Parser::skip(std::string_view& rest) {
  const size_t skipped = static_cast<size_t>(std::min<uint64_t>(rest.size(), skip_left_));
  rest.remove_prefix(skipped);
  skip_left_ -= skipped;
  return skip_left_ == 0;
}

}  // namespace perennial::wire
