#include "cmd/perennial/output/output.h"

#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

namespace perennial::tool {

void Output::add_number(uint64_t number) {
  const fmt::format_int text(number);
  add({text.data(), text.size()});
}

void Output::add_right(std::string_view text, size_t width) {
  for (size_t column = text.size(); column < width; ++column) add(" ");
  add(text);
}

void Output::add_left(std::string_view text, size_t width) {
  add(text);
  for (size_t column = text.size(); column < width; ++column) add(" ");
}

std::string Output::hash() {
  add_large({});
  return hasher_.hex();
}

Status Output::finish() {
  add_large({});
  return status_;
}

void Output::add_large(std::string_view bytes) {
  write_out(buffer_);
  buffer_.clear();
  if (bytes.size() < piece_bytes) {
    buffer_.append(bytes);
  } else {
    write_out(bytes);
  }
}

void Output::write_out(std::string_view bytes) {
  hasher_.add(bytes);
  while (!bytes.empty() && status_.ok()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd ready = {.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (errno != EINTR) {
      const bool is_full = errno == ENOSPC || errno == EDQUOT;
      const StatusCode code = is_full ? StatusCode::NoSpace : StatusCode::Io;
      status_ = {code, fmt::format("write the output: {}", std::strerror(errno))};
    }
  }
}

void ignore_closed_pipes() {
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace perennial::tool
