// A server that only reads and answers: `bare_loop PORT`. It answers each put with `INSERTED n`,
// and keeps no job. It costs what the kernel asks for a socket, so it is the yardstick for the loop
// of a real server. It knows the commands that a client sends before its first put, and no other.
//
// `bare_loop PORT wait FILE NANOS` writes 120 bytes of each put to FILE, and answers when they are
// synced, all that came together at once; each put costs NANOS of processor more, in the place of
// an engine. With `overlap`, those that come while IORING_OP_FSYNC is under way are the next group.

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

constexpr int events_max = 256;
constexpr size_t read_bytes_max = 64 << 10;
constexpr int backlog = 1024;
constexpr size_t row_bytes = 120;
constexpr off_t file_bytes = 64 << 20;  // It is written again and again, and never grows.
constexpr std::string_view stats = "OK 20\r\n---\nversion: \"bare\"\n\r\n";

// Returns the listening socket, or -1.
int listen_at(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // Clients inherit it.
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_port = htons(port);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0;
  return bound && ::listen(fd, backlog) == 0 ? fd : -1;
}

// Answers, and what must be on disk before they are sent.
struct Group {
  std::string rows;
  std::vector<std::pair<int, std::string>> answers;
};

// A file whose blocks are all there, so that a sync writes nothing but bytes.
class Log {
 public:
  explicit Log(const char* path) : fd_(::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    const std::string zeros(1 << 20, '\0');
    for (off_t at = 0; at < file_bytes; at += static_cast<off_t>(zeros.size())) {
      if (::pwrite(fd_, zeros.data(), zeros.size(), at) < 0) std::perror(path);
    }
    ::fsync(fd_);
  }
  int fd() const { return fd_; }
  void write(std::string_view rows) {
    if (at_ + static_cast<off_t>(rows.size()) > file_bytes) at_ = 0;
    if (::pwrite(fd_, rows.data(), rows.size(), at_) < 0) std::perror("write");
    at_ += static_cast<off_t>(rows.size());
  }

 private:
  const int fd_;
  off_t at_ = 0;
};

class BareLoop {
 public:
  // `log`: null, if nothing is written.
  BareLoop(int listener, Log* log, bool overlaps, std::chrono::nanoseconds work)
      : listener_(listener),
        set_(::epoll_create1(EPOLL_CLOEXEC)),
        log_(log),
        overlaps_(overlaps),
        work_(work) {
    watch(listener);
    if (!overlaps_) return;
    if (::io_uring_queue_init(8, &ring_, 0) != 0) std::abort();
    watch(ring_.ring_fd);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, events_max> events;
    for (;;) {
      const int ready = ::epoll_wait(set_, events.data(), events_max, -1);
      for (int i = 0; i < ready; ++i) {
        const int fd = events[static_cast<size_t>(i)].data.fd;
        if (fd == listener_) {
          accept();
        } else if (overlaps_ && fd == ring_.ring_fd) {
          on_synced();
        } else {
          serve(fd);
        }
      }
      if (!group_.rows.empty() && !is_syncing_) commit();
    }
  }

 private:
  void watch(int fd) {
    epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(set_, EPOLL_CTL_ADD, fd, &event);
  }

  void commit() {
    std::swap(group_, written_);
    log_->write(written_.rows);
    if (!overlaps_) {
      ::fdatasync(log_->fd());
      return answer_written();
    }
    io_uring_sqe* const sync = ::io_uring_get_sqe(&ring_);
    ::io_uring_prep_fsync(sync, log_->fd(), IORING_FSYNC_DATASYNC);
    ::io_uring_submit(&ring_);
    is_syncing_ = true;
  }

  void on_synced() {
    io_uring_cqe* done = nullptr;
    if (::io_uring_peek_cqe(&ring_, &done) != 0) return;
    ::io_uring_cqe_seen(&ring_, done);
    is_syncing_ = false;
    answer_written();
  }

  void answer_written() {
    for (const auto& [fd, answers] : written_.answers) send(fd, answers);
    written_.answers.clear();
    written_.rows.clear();
  }

  void work() const {
    const auto end = std::chrono::steady_clock::now() + work_;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  void accept() {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) watch(fd);
  }

  void serve(int fd) {
    const ssize_t count = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return close(fd);
    std::string_view bytes(buffer_.data(), static_cast<size_t>(count));
    const auto found = unfinished_.find(fd);
    if (found != unfinished_.end()) bytes = found->second.append(bytes);
    out_.clear();
    std::string rest(answer_whole(bytes));
    if (found != unfinished_.end()) unfinished_.erase(found);
    if (!rest.empty()) unfinished_.emplace(fd, std::move(rest));
    if (out_.empty()) return;
    if (log_ == nullptr || !out_.starts_with("INSERTED")) return send(fd, out_);
    group_.answers.emplace_back(fd, out_);
  }

  void send(int fd, const std::string& answers) {
    const ssize_t sent = ::send(fd, answers.data(), answers.size(), MSG_NOSIGNAL);
    // A client that does not take its answers is of no use here.
    if (sent != static_cast<ssize_t>(answers.size())) close(fd);
  }

  void close(int fd) {
    unfinished_.erase(fd);
    ::close(fd);
  }

  // Adds the answers to all commands that are complete, and returns the bytes behind them.
  std::string_view answer_whole(std::string_view bytes) {
    for (;;) {
      const size_t end = bytes.find("\r\n");
      if (end == std::string_view::npos) return bytes;
      const std::string_view line = bytes.substr(0, end);
      size_t taken = end + 2;
      if (line.starts_with("put ")) {
        const std::string_view size = line.substr(line.rfind(' ') + 1);
        size_t body_bytes = 0;
        std::from_chars(size.data(), size.data() + size.size(), body_bytes);
        taken += body_bytes + 2;
        if (taken > bytes.size()) return bytes;
      }
      answer(line);
      bytes.remove_prefix(taken);
    }
  }

  void answer(std::string_view line) {
    if (line.starts_with("put ")) {
      std::array<char, 20> digits;
      const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), ++last_id_);
      out_.append("INSERTED ").append(digits.data(), end.ptr).append("\r\n");
      if (log_ != nullptr) group_.rows.append(row_bytes, 'r');
      if (log_ != nullptr) work();
    } else if (line.starts_with("use ")) {
      out_.append("USING ").append(line.substr(4)).append("\r\n");
    } else if (line.starts_with("watch ") || line.starts_with("ignore ")) {
      out_.append("WATCHING 1\r\n");
    } else if (line == "stats") {
      out_.append(stats);
    } else {
      out_.append("UNKNOWN_COMMAND\r\n");
    }
  }

  const int listener_;
  const int set_;
  Log* const log_;
  const bool overlaps_;
  const std::chrono::nanoseconds work_;
  io_uring ring_ = {};
  Group group_;
  Group written_;
  bool is_syncing_ = false;
  uint64_t last_id_ = 0;
  std::array<char, read_bytes_max> buffer_ = {};
  std::string out_;
  std::unordered_map<int, std::string> unfinished_;  // The begin of a command, by descriptor.
};

}  // namespace

int main(int count, char** words) {
  uint16_t port = 0;
  const std::string_view word = count == 2 || count == 5 ? words[1] : "";
  std::from_chars(word.data(), word.data() + word.size(), port);
  const int listener = port != 0 ? listen_at(port) : -1;
  if (listener < 0) {
    std::fprintf(stderr, "usage: bare_loop PORT [wait|overlap FILE NANOS], where PORT is free\n");
    return 2;
  }
  if (count == 2) BareLoop(listener, nullptr, false, {}).run();
  Log log(words[3]);
  const bool overlaps = std::string_view(words[2]) == "overlap";
  BareLoop(listener, &log, overlaps, std::chrono::nanoseconds(std::atoi(words[4]))).run();
}
