#include "cmd/perennial-bench/load/connection.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include "engine/types/check.h"

namespace perennial::bench {
namespace {

constexpr size_t input_bytes_min = size_t{64} * 1024;

// The number that a line with a body ends with.
bool read_body_bytes(std::string_view line, size_t& bytes) {
  const std::string_view digits = line.substr(line.rfind(' ') + 1);
  const char* const end = digits.data() + digits.size();
  const auto [stopped, error] = std::from_chars(digits.data(), end, bytes);
  return error == std::errc() && stopped == end;
}

Status not_understood(std::string_view line) {
  constexpr size_t quoted_max = 100;
  return {StatusCode::Io, fmt::format("the server answered with '{}'", line.substr(0, quoted_max))};
}

}  // namespace

Status Connection::open(const common::Address& server, const Limits& limits) {
  Result<common::Socket> socket = common::connect_to(server);
  if (!socket.ok()) return socket.take_status();
  socket_ = socket.take();
  if (::fcntl(socket_.fd(), F_SETFL, O_NONBLOCK) != 0) return common::system_error("fcntl");
  out_size_ = limits.requests * limits.request_bytes;
  out_ = std::make_unique_for_overwrite<char[]>(out_size_);
  in_size_ = std::max(input_bytes_min, limits.reply_bytes);
  in_ = std::make_unique_for_overwrite<char[]>(in_size_);
  pending_.resize(limits.requests);
  return {};
}

char* Connection::request(Operation operation, std::string_view bytes, Nanos now) {
  CHECK(pending_count_ < pending_.size());
  pending_[(oldest_ + pending_count_) % pending_.size()] = {operation, now};
  ++pending_count_;
  if (out_end_ + bytes.size() > out_size_) {
    std::memmove(out_.get(), out_.get() + out_begin_, out_end_ - out_begin_);
    out_end_ -= out_begin_;
    out_begin_ = 0;
    CHECK(out_end_ + bytes.size() <= out_size_);
  }
  char* const place = out_.get() + out_end_;
  std::memcpy(place, bytes.data(), bytes.size());
  out_end_ += bytes.size();
  return place;
}

Status Connection::send() {
  while (has_unsent()) {
    const ssize_t sent =
        ::send(socket_.fd(), out_.get() + out_begin_, out_end_ - out_begin_, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return common::system_error("send");
    out_begin_ += static_cast<size_t>(sent);
  }
  out_begin_ = out_end_ = 0;
  return {};
}

Result<bool> Connection::receive() {
  if (in_begin_ > 0) {
    std::memmove(in_.get(), in_.get() + in_begin_, in_end_ - in_begin_);
    in_end_ -= in_begin_;
    in_begin_ = 0;
  }
  if (in_end_ == in_size_) return not_understood({in_.get(), in_end_});
  const size_t room = in_size_ - in_end_;
  const ssize_t got = ::recv(socket_.fd(), in_.get() + in_end_, room, 0);
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0) return common::system_error("recv");
  if (got == 0) return Status(StatusCode::Io, "the server closed a connection");
  in_end_ += static_cast<size_t>(got);
  return static_cast<size_t>(got) == room;
}

Result<bool> Connection::next(Reply& reply) {
  const std::string_view rest(in_.get() + in_begin_, in_end_ - in_begin_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = rest.substr(0, end);
  if (!line.ends_with('\r') || pending_count_ == 0) return not_understood(line);
  reply.line = line.substr(0, end - 1);
  reply.body = {};
  size_t whole = end + 1;
  if (line.starts_with("RESERVED ") || line.starts_with("FOUND ")) {
    size_t body_bytes = 0;
    const bool fits = read_body_bytes(reply.line, body_bytes) && body_bytes < in_size_;
    if (!fits) return not_understood(reply.line);
    whole += body_bytes + 2;
    if (rest.size() < whole) return false;
    reply.body = rest.substr(end + 1, body_bytes);
    if (rest.substr(whole - 2, 2) != "\r\n") return not_understood(reply.line);
  }
  reply.operation = pending_[oldest_].operation;
  reply.sent_at = pending_[oldest_].sent_at;
  oldest_ = oldest_ + 1 == pending_.size() ? 0 : oldest_ + 1;
  --pending_count_;
  in_begin_ += whole;
  return true;
}

}  // namespace perennial::bench
