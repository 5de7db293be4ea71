#include "wire/parser.h"

#include <algorithm>
#include <utility>

#include "engine/types/check.h"
#include "wire/batch_items.h"
#include "wire/command_line.h"

namespace perennial::wire {

Step Parser::feed(std::span<const char> bytes, size_t body_bytes_left) {
  CHECK(!bytes.empty());
  Step step;
  std::string_view rest(bytes.data(), bytes.size());
  if (!first_.decided()) step.foreign_protocol = first_.take(rest);
  while (!rest.empty() && !step.command && !step.foreign_protocol) {
    switch (reading_) {
      case Reading::Line:
        read_line(rest, step);
        break;
      case Reading::Body:
        read_body(rest, body_bytes_left);
        break;
      case Reading::DroppedBody:
        skip_body(rest);
        break;
      case Reading::BodyEnd:
        read_body_end(rest, step);
        break;
      case Reading::Refused:
        skip_refused(rest, step);
        break;
    }
  }
  if (step.foreign_protocol) rest = {};
  step.consumed = bytes.size() - rest.size();
  return step;
}

void Parser::read_line(std::string_view& rest, Step& step) {
  const LineReader::Got got = lines_.take(rest);
  if (got == LineReader::Got::Nothing) return;
  const std::string_view line = lines_.line();
  const bool whole = got == LineReader::Got::Line;
  const bool after_two_empty = whole && empty_lines_ == 2;
  const bool may_be_signature = whole && line.empty() && empty_lines_ < 2;
  empty_lines_ = may_be_signature ? empty_lines_ + 1 : no_signature;
  if (is_host_header(whole ? line : lines_.dropped_head())) {
    step.foreign_protocol = ForeignProtocol::Http;
  } else if (after_two_empty && is_proxy_signature(line)) {
    step.foreign_protocol = ForeignProtocol::Proxy;
  } else if (!whole || line.find('\0') != std::string_view::npos) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line.starts_with(put_prefix)) {
    begin_put(line.substr(put_prefix.size()), step);
  } else if (line.starts_with(put_batch_prefix) && allowed_.allows(Extension::Batch)) {
    begin_batch(line.substr(put_batch_prefix.size()), step);
  } else if (line.starts_with(note_prefix) && allowed_.allows(Extension::Notes)) {
    begin_note(line.substr(note_prefix.size()), step);
  } else if (line.starts_with(schedule_prefix) && allowed_.allows(Extension::Schedules)) {
    begin_schedule(line.substr(schedule_prefix.size()), step);
  } else {
    step.command = parse_command_line(line, allowed_);
  }
}

// The order of these checks is beanstalkd's, and clients can see it. A body that is too big is
// dropped even when its line has trailing junk. The body of any other bad line is not dropped, but
// read as commands. Bad options, which beanstalkd does not have, are the exception: the body of a
// client that gets an option wrong must not run as commands.
void Parser::begin_put(std::string_view args, Step& step) {
  const std::optional<PutLine> line = parse_put_line(args, allowed_);
  if (!line) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line->put.body_bytes > job_bytes_max_) {
    begin_refusal(PutTooBig{}, line->put.body_bytes);
  } else if (line->tail == LineTail::BadOptions) {
    begin_refusal(PutTrailingJunk{}, line->put.body_bytes);
  } else if (line->tail == LineTail::Junk) {
    step.command = PutTrailingJunk{};
  } else {
    put_ = line->put;
    reading_ = Reading::Body;
  }
}

// All items are read before the line is judged, so that whatever is wrong the next byte is that of
// a command.
void Parser::begin_batch(std::string_view args, Step& step) {
  std::optional<PutBatchLine> line = parse_put_batch_line(args, allowed_);
  if (!line) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line->bytes > put_batch_bytes_max) {
    begin_refusal(PutBatchRefused{PutBatchRefused::Why::JobTooBig}, line->bytes);
  } else if (!line->is_good) {
    begin_refusal(PutBatchRefused{PutBatchRefused::Why::BadFormat}, line->bytes);
  } else {
    batch_ = std::make_unique<PutBatch>(std::move(line->batch));
    batch_->bytes = static_cast<uint32_t>(line->bytes);
    put_ = {.priority = 0, .delay_s = 0, .ttr_s = 0, .body_bytes = batch_->bytes};
    reading_ = Reading::Body;
  }
}

// The order of these checks is that of a put. A put may be empty, and a note may not.
void Parser::begin_note(std::string_view args, Step& step) {
  const std::optional<NoteLine> line = parse_note_line(args, allowed_);
  if (!line) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line->bytes > note_bytes_max) {
    begin_refusal(NoteRefused{NoteRefused::Why::TooBig}, line->bytes);
  } else if (line->tail == LineTail::BadOptions) {
    begin_refusal(NoteRefused{NoteRefused::Why::BadFormat}, line->bytes);
  } else if (line->tail == LineTail::Junk) {
    step.command = NoteRefused{NoteRefused::Why::BadFormat};
  } else if (line->bytes == 0) {
    begin_refusal(NoteRefused{NoteRefused::Why::BadFormat}, 0);
  } else {
    note_ = std::make_unique<NoteJob>(NoteJob{.id = line->id, .bytes = line->bytes});
    put_ = {.priority = 0, .delay_s = 0, .ttr_s = 0, .body_bytes = line->bytes};
    reading_ = Reading::Body;
  }
}

// Whatever is wrong behind its numbers, the body must not run as commands.
void Parser::begin_schedule(std::string_view args, Step& step) {
  std::optional<ScheduleLine> line = parse_schedule_line(args, allowed_);
  if (!line) {
    step.command = Malformed{Malformed::Kind::BadFormat};
  } else if (line->set.body_bytes > job_bytes_max_) {
    begin_refusal(ScheduleRefused{ScheduleRefused::Why::TooBig}, line->set.body_bytes);
  } else if (line->tail != LineTail::Nothing) {
    begin_refusal(ScheduleRefused{ScheduleRefused::Why::BadFormat}, line->set.body_bytes);
  } else {
    schedule_ = std::make_unique<SetSchedule>(std::move(line->set));
    put_ = {.priority = 0, .delay_s = 0, .ttr_s = 0, .body_bytes = schedule_->body_bytes};
    reading_ = Reading::Body;
  }
}

void Parser::read_body(std::string_view& rest, size_t body_bytes_left) {
  // The limit is checked in each call and not only for the header, because other connections use
  // the same memory while the body arrives. A body that was partly kept is dropped completely.
  if (put_.body_bytes > body_bytes_left) {
    skip_left_ = put_.body_bytes - body_.size();
    body_ = Body();
    reading_ = Reading::DroppedBody;
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
  body_dropped_ = true;
}

void Parser::begin_body_end() {
  crlf_seen_ = 0;
  crlf_good_ = true;
  body_dropped_ = false;
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
  if (batch_) {
    end_batch(body, step);
  } else if (note_) {
    end_note(body, step);
  } else if (schedule_) {
    end_schedule(std::move(body), step);
  } else if (crlf_good_) {
    step.command = put_;
    step.body = std::move(body);
    step.body_dropped = body_dropped_;
  } else {
    step.command = PutNoCrlf{};
  }
}

void Parser::end_batch(const Body& items, Step& step) {
  PutBatch batch = std::move(*std::exchange(batch_, nullptr));
  std::optional<PutBatchRefused::Why> why;
  if (!crlf_good_) why = PutBatchRefused::Why::ExpectedCrlf;
  if (!why && !body_dropped_) {
    why = parse_items(items.view(), {job_bytes_max_, allowed_}, batch, step.bodies);
  }
  if (why) {
    step.bodies.clear();
    step.command = PutBatchRefused{*why};
  } else {
    step.command = std::move(batch);
    step.body_dropped = body_dropped_;
  }
}

void Parser::end_note(const Body& text, Step& step) {
  NoteJob note = std::move(*std::exchange(note_, nullptr));
  if (!crlf_good_) {
    step.command = NoteRefused{NoteRefused::Why::ExpectedCrlf};
    return;
  }
  if (!body_dropped_) note.text = text.view();
  step.command = std::move(note);
}

void Parser::end_schedule(Body&& body, Step& step) {
  SetSchedule set = std::move(*std::exchange(schedule_, nullptr));
  if (!crlf_good_) {
    step.command = ScheduleRefused{ScheduleRefused::Why::ExpectedCrlf};
    return;
  }
  step.command = std::move(set);
  step.body = std::move(body);
  step.body_dropped = body_dropped_;
}

// Begins to drop the body and its CRLF. The command is answered after that. The size is that of the
// line, and may be the largest number there is.
void Parser::begin_refusal(Command command, uint64_t body_bytes) {
  constexpr uint64_t crlf_bytes = 2;
  refused_ = std::make_unique<Command>(std::move(command));
  skip_left_ = std::min(body_bytes, UINT64_MAX - crlf_bytes) + crlf_bytes;
  reading_ = Reading::Refused;
}

void Parser::skip_refused(std::string_view& rest, Step& step) {
  if (!skip(rest)) return;
  reading_ = Reading::Line;
  step.command = std::move(*std::exchange(refused_, nullptr));
}

// Drops bytes. Returns whether everything that was to be dropped has been.
bool Parser::skip(std::string_view& rest) {
  const size_t skipped = static_cast<size_t>(std::min<uint64_t>(rest.size(), skip_left_));
  rest.remove_prefix(skipped);
  skip_left_ -= skipped;
  return skip_left_ == 0;
}

}  // namespace perennial::wire
