// redis_load PORT SECONDS: whole jobs of Redis's reliable queue, and their rate as a line of JSON.
//
// A producer pushes a job to a list with LPUSH. A worker moves it to a list of jobs that are worked
// on with BLMOVE, which waits while there is none, and deletes it from there with LREM. Each has a
// connection with one command in flight. One thread and one epoll drive all of them, as
// perennial-bench does, because client and server share the processors.

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/perennial-bench/load/bodies.h"
#include "cmd/perennial-bench/servers/clock.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::bench {
namespace {

// All as in the workload "cycle" of perennial bench.
constexpr uint32_t producers = 25;
constexpr uint32_t workers = 25;
constexpr uint32_t body_bytes = 128;
constexpr uint64_t ahead_max = 4000;
constexpr Nanos warm_up = nanos_per_second / 2;
constexpr Nanos silence_max = 30 * nanos_per_second;

constexpr std::string_view ready_list = "jobs";
constexpr std::string_view taken_list = "jobs-taken";

// A connection to 127.0.0.1 that sends one command at a time.
class Connection {
 public:
  Connection() = default;
  ~Connection() {
    if (fd_ >= 0) ::close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Status open(uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in there{};
    there.sin_family = AF_INET;
    there.sin_port = htons(port);
    there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd_, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0) return {};
    return common::system_error("connect");
  }

  // Far less than a socket takes at once.
  Status send(std::initializer_list<std::string_view> words) {
    out_ = fmt::format("*{}\r\n", words.size());
    for (const std::string_view word : words)
      out_ += fmt::format("${}\r\n{}\r\n", word.size(), word);
    if (::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out_.size()))
      return {};
    return common::system_error("send");
  }

  // Reads what has arrived, which may be nothing.
  Status receive() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (count == 0) return {StatusCode::Io, "the server has closed a connection"};
    if (count > 0) in_.append(bytes.data(), static_cast<size_t>(count));
    if (count > 0 || errno == EAGAIN || errno == EINTR) return {};
    return common::system_error("receive");
  }

  // Takes the reply if it has arrived: the text of a string, or the line of a number.
  Result<std::optional<std::string>> take_reply() {
    const size_t line_end = in_.find("\r\n");
    if (line_end == std::string::npos) return std::optional<std::string>();
    size_t begin = 1;
    size_t size = line_end - 1;
    if (in_[0] == '$') {
      begin = line_end + 2;
      const char* const digits_end = in_.data() + line_end;
      if (std::from_chars(in_.data() + 1, digits_end, size).ptr != digits_end) return unexpected();
      if (in_.size() < begin + size + 2) return std::optional<std::string>();
    } else if (in_[0] != ':') {
      return unexpected();
    }
    std::optional<std::string> reply = in_.substr(begin, size);
    in_.erase(0, begin + size + 2);
    return reply;
  }

  Status unexpected() const {
    return {StatusCode::Io, "the server has answered " + in_.substr(0, in_.find("\r\n"))};
  }

  int fd() const { return fd_; }

 private:
  int fd_ = -1;
  std::string out_;
  std::string in_;
};

class Load {
 public:
  Load() : bodies_(body_bytes, 1) {}
  ~Load() {
    if (epoll_ >= 0) ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  Status open(uint16_t port) {
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < producers + workers; ++i) {
      auto client = std::make_unique<Client>();
      client->step = i < producers ? Step::Put : Step::Take;
      if (Status s = client->connection.open(port); !s.ok()) return s;
      epoll_event event{.events = EPOLLIN, .data = {.ptr = client.get()}};
      if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, client->connection.fd(), &event) != 0)
        return common::system_error("watch a socket");
      clients_.push_back(std::move(client));
    }
    for (const auto& client : clients_)
      if (Status s = begin(*client); !s.ok()) return s;
    heard_at_ = now_nanos();
    return {};
  }

  Status run_for(Nanos duration) {
    const Nanos end = now_nanos() + duration;
    while (now_nanos() < end)
      if (Status s = turn(); !s.ok()) return s;
    return {};
  }

  uint64_t done_count() const { return done_count_; }

 private:
  enum class Step : uint8_t { Put, Take, Delete };

  struct Client {
    Connection connection = {};
    Step step = Step::Put;  // What it waits for the reply of, or is to do next.
  };

  Status turn() {
    std::array<epoll_event, 256> events;
    constexpr int wait_ms = 100;
    const int ready = ::epoll_wait(epoll_, events.data(), events.size(), wait_ms);
    if (ready < 0 && errno != EINTR) return common::system_error("wait");
    for (int i = 0; i < ready; ++i)
      if (Status s = on_readable(*static_cast<Client*>(events[static_cast<size_t>(i)].data.ptr));
          !s.ok())
        return s;
    std::vector<Client*> woken;
    woken.swap(paused_);
    for (Client* client : woken)
      if (Status s = begin(*client); !s.ok()) return s;
    if (now_nanos() - heard_at_ < silence_max) return {};
    return {StatusCode::Io, "the server has stopped answering"};
  }

  Status on_readable(Client& client) {
    if (Status s = client.connection.receive(); !s.ok()) return s;
    Result<std::optional<std::string>> reply = client.connection.take_reply();
    if (!reply.ok()) return reply.status();
    if (!reply->has_value()) return {};
    heard_at_ = now_nanos();
    return on_reply(client, **reply);
  }

  Status on_reply(Client& client, const std::string& reply) {
    switch (client.step) {
      case Step::Put:  // The length of the list.
        break;
      case Step::Take:
        if (!bodies_.is_one(reply)) return {StatusCode::Io, "a job has another body"};
        client.step = Step::Delete;
        return client.connection.send({"LREM", taken_list, "1", reply});
      case Step::Delete:
        if (reply != "1") return {StatusCode::Io, "a job that was taken is not there"};
        ++done_count_;
        client.step = Step::Take;
        break;
    }
    return begin(client);
  }

  // A producer pauses while too many jobs wait.
  Status begin(Client& client) {
    if (client.step == Step::Take)
      return client.connection.send({"BLMOVE", ready_list, taken_list, "RIGHT", "LEFT", "0"});
    if (put_count_ - done_count_ >= ahead_max) {
      paused_.push_back(&client);
      return {};
    }
    std::array<char, body_bytes> body;
    bodies_.write(body.data(), now_nanos());
    ++put_count_;
    return client.connection.send({"LPUSH", ready_list, {body.data(), body.size()}});
  }

  const Bodies bodies_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Client*> paused_;
  uint64_t put_count_ = 0;
  uint64_t done_count_ = 0;
  Nanos heard_at_ = 0;
};

Status run(uint16_t port, double seconds) {
  Load load;
  if (Status s = load.open(port); !s.ok()) return s;
  if (Status s = load.run_for(warm_up); !s.ok()) return s;
  const uint64_t done_before = load.done_count();
  const Nanos begun = now_nanos();
  if (Status s = load.run_for(static_cast<Nanos>(seconds * nanos_per_second)); !s.ok()) return s;
  const double took_s = static_cast<double>(now_nanos() - begun) / nanos_per_second;
  const auto done = static_cast<double>(load.done_count() - done_before);
  fmt::print("{{\"work\": \"jobs {}+{}\", \"per_second\": {:.0f}}}\n", producers, workers,
             done / took_s);
  return {};
}

template <typename Number>
bool read_number(std::string_view word, Number& number) {
  const char* const end = word.data() + word.size();
  const auto [stopped, error] = std::from_chars(word.data(), end, number);
  return stopped == end && error == std::errc();
}

}  // namespace
}  // namespace perennial::bench

int main(int count, char** words) {
  uint16_t port = 0;
  double seconds = 0;
  if (count != 3 || !perennial::bench::read_number(words[1], port) ||
      !perennial::bench::read_number(words[2], seconds) || !(seconds > 0 && seconds <= 3600)) {
    fmt::print(stderr, "usage: redis_load PORT SECONDS\n");
    return 2;
  }
  const perennial::Status status = perennial::bench::run(port, seconds);
  if (status.ok()) return 0;
  fmt::print(stderr, "redis_load: {}\n", status.message());
  return 1;
}
