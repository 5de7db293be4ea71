#include "cmd/perennial-bench/load/connection.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>

#include "cmd/perennial-bench/load/reply_end.h"
#include "engine/types/check.h"

namespace perennial::bench {
namespace {

constexpr size_t input_bytes_min = size_t{64} * 1024;

}  // namespace

Status Connection::open(const Target& server, const Limits& limits) {
  Result<common::ClientStream> stream = open_stream(server);
  if (!stream.ok()) return stream.take_status();
  stream_ = stream.take();
  if (::fcntl(stream_.fd(), F_SETFL, O_NONBLOCK) != 0) return common::system_error("fcntl");
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
    const ssize_t sent = stream_.send({out_.get() + out_begin_, out_end_ - out_begin_});
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return stream_.error("send");
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
  const size_t free_bytes = in_size_ - in_end_;
  const ssize_t got = stream_.recv(in_.get() + in_end_, free_bytes);
  if (got < 0 && errno == EAGAIN) return false;
  if (got < 0) return stream_.error("recv");
  if (got == 0) return Status(StatusCode::Io, "the server closed a connection");
  in_end_ += static_cast<size_t>(got);
  return static_cast<size_t>(got) == free_bytes || stream_.has_records();
}

Result<bool> Connection::next(Reply& reply) {
  const std::string_view rest(in_.get() + in_begin_, in_end_ - in_begin_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) return false;
  const std::string_view line = rest.substr(0, end);
  if (!line.ends_with('\r') || pending_count_ == 0) return not_understood(line);
  reply.line = line.substr(0, end - 1);
  std::string_view behind = rest.substr(end + 1);
  Result<bool> is_whole = skip_body(reply.line, behind, in_size_);
  if (!is_whole.ok() || !*is_whole) return is_whole;
  const size_t whole = rest.size() - behind.size();
  const size_t body_bytes = whole - (end + 1);
  // Without its CRLF.
  reply.body = rest.substr(end + 1, body_bytes - std::min<size_t>(body_bytes, 2));
  reply.operation = pending_[oldest_].operation;
  reply.sent_at = pending_[oldest_].sent_at;
  oldest_ = oldest_ + 1 == pending_.size() ? 0 : oldest_ + 1;
  --pending_count_;
  in_begin_ += whole;
  return true;
}

}  // namespace perennial::bench
