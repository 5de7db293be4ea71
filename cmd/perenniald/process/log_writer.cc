#include "cmd/perenniald/process/log_writer.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <system_error>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

// The thread takes no signal that is meant for the server, and none of a pipe whose reader is gone.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

LogWriter::LogWriter(int fd, std::function<std::string(uint64_t)> say_dropped)
    : fd_(fd), say_dropped_(std::move(say_dropped)) {
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // No thread can be had: each line is written by whoever adds it.
  }
}

LogWriter::~LogWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  added_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LogWriter::add(std::string_view line, bool is_important) {
  const size_t capacity = bytes_max + (is_important ? bytes_max / 4 : 0);
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) {
    write_out(std::string(line));
    return;
  }
  // A line behind those that were dropped has to wait until they are said.
  const bool fits = waiting_.size() + being_written_ + line.size() <= capacity;
  if (!fits || (not_said_ > 0 && !is_important)) {
    ++not_said_;
    ++dropped_;
  } else {
    waiting_ += line;
    ++lines_in_;
  }
  lock.unlock();
  added_.notify_one();
}

bool LogWriter::flush(Nanos time_max) {
  std::unique_lock lock(mutex_);
  const uint64_t wanted = lines_in_;
  return written_.wait_for(lock, std::chrono::nanoseconds(time_max),
                           [&] { return lines_out_ >= wanted && not_said_ == 0; });
}

uint64_t LogWriter::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

void LogWriter::run() {
  std::unique_lock lock(mutex_);
  uint64_t lost = 0;  // Lines that could not be written. They are said with the next line that can.
  while (true) {
    added_.wait(lock, [this] { return stopping_ || !waiting_.empty() || not_said_ > 0; });
    if (waiting_.empty() && not_said_ == 0) return;
    std::string bytes = std::exchange(waiting_, {});
    const uint64_t lines = lines_in_;
    const uint64_t dropped = std::exchange(not_said_, 0) + lost;
    if (dropped > 0) bytes += say_dropped_(dropped);
    being_written_ = bytes.size();
    lock.unlock();
    lost = write_out(std::move(bytes));
    lock.lock();
    // The last of them is the one that says it.
    if (lost > 0 && dropped > 0) lost += dropped - 1;
    being_written_ = 0;
    lines_out_ = lines;
    written_.notify_all();
  }
}

// What cannot be written, as on a full disk, is lost. A line of which a part was written ends
// before the next one, which would be no line of its own otherwise.
uint64_t LogWriter::write_out(std::string bytes) {
  const bool was_torn = is_torn_;
  if (was_torn) bytes.insert(0, 1, '\n');
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t written = ::write(fd_, left.data(), left.size());
    if (written > 0) {
      is_torn_ = left[static_cast<size_t>(written) - 1] != '\n';
      left.remove_prefix(static_cast<size_t>(written));
    } else if (written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
      pollfd ready = {.fd = fd_, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      const auto lines = static_cast<uint64_t>(std::ranges::count(left, '\n'));
      return was_torn && left.size() == bytes.size() ? lines - 1 : lines;
    }
  }
  return 0;
}

}  // namespace perennial::perenniald
