#include "cmd/perennial/work/exchange.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include <poll.h>
#include <sys/socket.h>

#include "cmd/common/tool/requests.h"

namespace perennial::tool::work {
namespace {

using std::chrono::milliseconds;

// A runner asks for a job for at most 30 seconds.
constexpr std::chrono::seconds silence_max{45};
// After DEADLINE_SOON: a job is about to time out, and none is ready.
constexpr milliseconds retry_pause{100};
constexpr std::string_view crlf = "\r\n";
// A note and the command behind it are read, and so sent, together.
constexpr size_t seat_read_bytes = note_bytes_max + 1024;

bool has_payload(const wire::ClientReply& reply) {
  const ReplyShape shape = row_of(reply.word).shape;
  return shape == ReplyShape::Payload || shape == ReplyShape::JobPayload;
}

// A runner that is gone is noticed when its socket is read.
void send_to(const common::Socket& runner, const wire::ClientReply& reply) {
  std::string bytes = describe(reply);
  bytes += crlf;
  if (has_payload(reply)) {
    bytes += reply.text;
    bytes += crlf;
  }
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        ::send(runner.fd(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    sent += static_cast<size_t>(count);
  }
}

bool ends_job(const Command& command) {
  return std::holds_alternative<Delete>(command) || std::holds_alternative<Release>(command) ||
         std::holds_alternative<Bury>(command);
}

// Whether the job is no longer reserved after this reply to a command that ends it.
bool has_ended_job(const wire::ClientReply& reply) {
  return reply.is(Word::Deleted) || reply.is(Word::Released) || reply.is(Word::Buried) ||
         reply.is(Word::NotFound);
}

}  // namespace

bool Exchange::can_use(ExtensionSet allowed) {
  return allowed.allows(Extension::Batch) && allowed.allows(Extension::Abort) &&
         allowed.allows(Extension::KeepPriority);
}

void Exchange::add_seat(common::Socket runner) {
  seats_.emplace(next_seat_++, Seat{.socket = std::move(runner)});
}

Status Exchange::turn(int wake_fd) {
  std::vector<pollfd> events = {{.fd = wake_fd, .events = POLLIN, .revents = 0},
                                {.fd = server_.fd(), .events = POLLIN, .revents = 0}};
  std::vector<SeatId> ids;
  for (const auto& [id, seat] : seats_) {
    ids.push_back(id);
    events.push_back({.fd = seat.socket.fd(), .events = POLLIN, .revents = 0});
  }
  const int count = ::poll(events.data(), events.size(), poll_ms());
  CHECK(count >= 0 || errno == EINTR);
  if (count < 0) return {};
  if (events[1].revents != 0)
    if (Status read = read_server(); !read.ok()) return read;
  for (size_t i = 0; i < ids.size(); ++i)
    if (events[i + 2].revents != 0 && !read_seat(ids[i])) leave(ids[i]);
  reserve_if_wanted();
  if (Status silent = check_silence(); !silent.ok()) return silent;
  return server_.send();
}

int Exchange::poll_ms() const {
  auto next = TimePoint::max();
  if (!requests_.empty()) next = std::max(requests_.front().sent_at, heard_at_) + silence_max;
  if (!is_reserving_ && waiting_count() > 0) next = std::min(next, retry_at_);
  if (next == TimePoint::max()) return -1;
  const auto left = std::chrono::ceil<milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, std::numeric_limits<int>::max()));
}

Status Exchange::read_server() {
  do {
    const Result<wire::ClientReply> reply = server_.receive();
    if (!reply.ok()) return reply.status();
    heard_at_ = Clock::now();
    if (Status done = on_reply(*reply); !done.ok()) return done;
  } while (server_.has_input());
  return {};
}

Status Exchange::on_reply(const wire::ClientReply& reply) {
  if (requests_.empty()) return unexpected(reply, "nothing");
  const Request request = requests_.front();
  requests_.pop_front();
  if (request.kind == Request::Kind::Reserve) return on_reserved(reply);
  if (request.kind == Request::Kind::Forwarded) answer(request, reply);
  return {};
}

Status Exchange::on_reserved(const wire::ClientReply& reply) {
  is_reserving_ = false;
  if (reply.is(Word::Forbidden)) {
    refuse(reply);
    return {};
  }
  const bool may_retry = reply.is(Word::DeadlineSoon) || reply.is(Word::OutOfMemory);
  if (!may_retry && !reply.is(Word::ReservedBatch)) return unexpected(reply, "reserve-batch");
  if (may_retry) retry_at_ = Clock::now() + retry_pause;
  for (uint64_t left = may_retry ? 0 : reply.number; left > 0; --left) {
    const Result<wire::ClientReply> job = server_.receive();
    if (!job.ok()) return job.status();
    // In place of a job whose body is damaged there is an error, and the job is buried.
    if (job->is(Word::Reserved)) give(*job);
  }
  time_out();
  return {};
}

void Exchange::refuse(const wire::ClientReply& reply) {
  for (auto& [id, seat] : seats_) {
    if (!seat.waits_until) continue;
    seat.waits_until.reset();
    send_to(seat.socket, reply);
  }
}

void Exchange::give(const wire::ClientReply& job) {
  const auto is_first = [](const auto& seat) {
    return seat.second.waits_until.has_value() && seat.second.is_asked_for;
  };
  const auto waits = [](const auto& seat) { return seat.second.waits_until.has_value(); };
  auto found = std::ranges::find_if(seats_, is_first);
  if (found == seats_.end()) found = std::ranges::find_if(seats_, waits);
  // Whoever waited for it has left.
  if (found == seats_.end()) return give_back(job.number);
  Seat& seat = found->second;
  seat.waits_until.reset();
  seat.job = job.number;
  send_to(seat.socket, job);
}

void Exchange::give_back(JobId job) {
  const bool is_not_counted = allowed_.allows(Extension::Attempts);
  request(Release{.id = job,
                  .priority = PriorityOrKeep(),
                  .delay_s = 0,
                  .delay_rest_ns = 0,
                  .count = {.given = is_not_counted}},
          Request::Kind::Own);
}

void Exchange::time_out() {
  const auto now = Clock::now();
  for (auto& [id, seat] : seats_) {
    if (!seat.waits_until || !seat.is_asked_for || *seat.waits_until > now) continue;
    seat.waits_until.reset();
    send_to(seat.socket, {.word = Word::TimedOut, .text = {}});
  }
}

void Exchange::answer(const Request& request, const wire::ClientReply& reply) {
  const auto found = seats_.find(request.seat);
  if (found == seats_.end()) return;
  if (request.ends_job && has_ended_job(reply)) found->second.job.reset();
  send_to(found->second.socket, reply);
}

bool Exchange::read_seat(SeatId id) {
  Seat& seat = seats_.at(id);
  std::array<char, seat_read_bytes> bytes;
  const ssize_t count = ::recv(seat.socket.fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  if (count == 0) return false;
  std::span<const char> rest(bytes.data(), static_cast<size_t>(count));
  while (!rest.empty()) {
    const wire::Step step = seat.parser->feed(rest);
    rest = rest.subspan(step.consumed);
    if (step.command) on_command(id, *step.command);
  }
  return true;
}

void Exchange::on_command(SeatId id, const Command& command) {
  if (const auto* const reserve = std::get_if<ReserveWithTimeout>(&command)) {
    seats_.at(id).waits_until = Clock::now() + std::chrono::seconds(reserve->timeout_s);
    seats_.at(id).is_asked_for = false;
    return;
  }
  request(command, Request::Kind::Forwarded, id, ends_job(command));
}

void Exchange::leave(SeatId id) {
  const auto found = seats_.find(id);
  const bool was_waiting = found->second.waits_until.has_value();
  if (found->second.job) give_back(*found->second.job);
  seats_.erase(found);
  if (was_waiting) end_wait();
}

void Exchange::request(const Command& command, Request::Kind kind, SeatId seat, bool ends_job) {
  server_.add(command);
  requests_.push_back({.kind = kind, .seat = seat, .ends_job = ends_job});
  is_wait_ended_ = true;
}

void Exchange::reserve_if_wanted() {
  const uint64_t waiting = waiting_count();
  if (is_reserving_ && waiting > asked_count_) end_wait();
  const auto now = Clock::now();
  if (is_reserving_ || waiting == 0 || now < retry_at_) return;
  auto until = TimePoint::max();
  for (auto& [id, seat] : seats_) {
    until = std::min(until, seat.waits_until.value_or(until));
    seat.is_asked_for = true;
  }
  const auto wait = std::max(until - now, Clock::duration(0));
  ReserveBatch reserve{.count = {waiting},
                       .wait = {std::chrono::floor<milliseconds>(wait).count() * nanos_per_ms}};
  reserve.options.make().abort.given = true;
  request(reserve, Request::Kind::Reserve);
  is_reserving_ = true;
  asked_count_ = waiting;
  is_wait_ended_ = false;
}

// The shortest command that changes nothing.
void Exchange::end_wait() {
  if (is_reserving_ && !is_wait_ended_) request(ListTubeUsed{}, Request::Kind::Own);
}

uint64_t Exchange::waiting_count() const {
  return static_cast<uint64_t>(std::ranges::count_if(
      seats_, [](const auto& seat) { return seat.second.waits_until.has_value(); }));
}

Status Exchange::check_silence() const {
  const bool is_silent =
      !requests_.empty() &&
      Clock::now() >= std::max(requests_.front().sent_at, heard_at_) + silence_max;
  if (!is_silent) return {};
  return {StatusCode::Io, server_.address() + ": the server does not answer"};
}

}  // namespace perennial::tool::work
