#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/streams/stream.h"

namespace perennial::perenniald {

// A session that returns what the test has set, and records its calls.
class FakeSession final : public core::Session {
 public:
  void on_bytes(std::span<const char> bytes, Nanos /*now*/, bool later) override {
    heard.append(bytes.data(), bytes.size());
    was_late = later;
  }
  void on_half_close(Nanos /*now*/) override { half_closed = true; }
  void on_eof(Nanos /*now*/) override { ended = true; }
  void on_written(size_t bytes) override { says.erase(0, bytes); }
  void on_close(Nanos /*now*/) override { closed = true; }
  std::string_view output() const override { return says; }
  bool reading() override { return reads; }
  bool finished() const override { return is_finished && says.empty(); }
  std::string_view speaks() const override { return {}; }
  bool may_hear_secret() const override { return false; }

  std::string says;
  std::string heard;
  bool reads = true;
  bool is_finished = false;
  bool was_late = false;
  bool half_closed = false;
  bool ended = false;
  bool closed = false;
};

// A stream that is open once the client has said "open ", or "back ", which is a resumed session,
// or "gone ", after which nothing can be written. Anything else is refused. Then "half" is half a
// record. It says "busy" when the socket can be written, if it is told to. What it has read it
// decrypts as long as a test holds it.
class FakeHandshake final : public Stream {
 public:
  FakeHandshake(int fd, bool has_output, std::atomic<int>& decrypts, std::atomic<bool>& is_held)
      : plain_(fd), has_unsent_(has_output), decrypts_(decrypts), is_held_(is_held) {}

  bool is_open() const override { return is_open_; }
  Outcome read(std::span<char> buffer, size_t bytes_max) override {
    Outcome got = plain_.read(buffer, bytes_max);
    if (got.state != State::Done) return got;
    ++decrypts_;
    is_held_.wait(true);
    const std::string_view word = "open ";
    const std::string_view said(buffer.data(), got.bytes);
    if (is_open_ && said == "half") return {.state = State::Blocked};
    if (is_open_) return got;
    is_resumed_ = said.starts_with("back ");
    const bool is_gone = said.starts_with("gone ");
    if (!is_resumed_ && !is_gone && !said.starts_with(word)) {
      failure_ = "that is no greeting";
      return {.state = State::Failed};
    }
    is_open_ = true;
    if (is_gone) return {.state = State::Failed};
    std::copy(buffer.begin() + word.size(), buffer.begin() + got.bytes, buffer.begin());
    got.bytes -= word.size();
    if (got.bytes == 0) got.state = State::Blocked;
    got.is_last = got.bytes > 0 && buffer[got.bytes - 1] == '.';
    return got;
  }
  Outcome write(std::string_view bytes) override { return plain_.write(bytes); }
  bool has_unsent() const override { return has_unsent_; }
  Outcome flush() override {
    has_unsent_ = false;
    return plain_.write("busy");
  }
  void end() override { plain_.write("bye"); }
  bool is_resumed() const override { return is_resumed_; }
  std::string failure() const override { return failure_; }
  int fd() const override { return plain_.fd(); }

 private:
  PlainStream plain_;
  bool has_unsent_;
  std::atomic<int>& decrypts_;
  std::atomic<bool>& is_held_;
  bool is_open_ = false;
  bool is_resumed_ = false;
  std::string failure_;
};

// Connections whose streams and sessions are fakes, and the clients' ends of their sockets.
class FakeClients : private Connections::Owner {
 protected:
  FakeClients() { EXPECT_EQ(uv_loop_init(&loop_), 0); }
  ~FakeClients() override {
    connections_->close_all();
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) continue;
    connections_.reset();
    EXPECT_EQ(uv_loop_close(&loop_), 0);
    for (const int fd : clients_) close(fd);
  }

  void make_connections(const ConnectionLimits& limits, std::unique_ptr<SocketBatch> batch,
                        std::unique_ptr<IoThreads> threads = nullptr) {
    Connections::Owner& owner = *this;  // The base is private.
    connections_.emplace(loop_, clock_, budget_, limits, std::move(batch), std::move(threads),
                         owner);
  }
  // Opens a connection, and returns the client's end.
  int open(ListenerRole role = ListenerRole::Queue) {
    return open({.is_local = true, .role = role});
  }
  int open(AcceptedSocket socket) {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    socket.fd = ends[0];
    EXPECT_TRUE(connections_->open(socket).ok());
    clients_.push_back(ends[1]);
    return ends[1];
  }
  static void say(int client, std::string_view bytes) {
    EXPECT_EQ(send(client, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  FakeSession& session(ConnId conn = 1) { return sessions_.at(conn); }

  uv_loop_t loop_ = {};
  TurnClock clock_;
  TurnBudget budget_{clock_};
  std::map<ConnId, FakeSession> sessions_;
  std::optional<Connections> connections_;
  std::vector<int> clients_;
  std::vector<ConnId> first_reads_;
  bool others_wait_ = false;
  int bytes_calls_ = 0;
  int slot_calls_ = 0;
  bool with_handshake_ = false;
  bool has_output_ = false;
  std::atomic<int> decrypts_ = 0;  // How often a stream has begun to decrypt.
  std::atomic<bool> holds_decrypts_ = false;
  bool may_use_thread_ = true;

 private:
  std::unique_ptr<Stream> make_stream(const AcceptedSocket& socket) override {
    if (with_handshake_) {
      return std::make_unique<FakeHandshake>(socket.fd, has_output_, decrypts_, holds_decrypts_);
    }
    return std::make_unique<PlainStream>(socket.fd);
  }
  core::Session& open_session(ConnId conn, const AcceptedSocket& /*socket*/,
                              const PeerIdentity* /*peer*/) override {
    return sessions_[conn];
  }
  bool has_waiting_sessions() override { return others_wait_; }
  void on_first_read(ConnId conn) override { first_reads_.push_back(conn); }
  void on_bytes() override { ++bytes_calls_; }
  void on_slot_free() override { ++slot_calls_; }
  bool may_use_thread(const AcceptedSocket& /*socket*/) override { return may_use_thread_; }
};

}  // namespace perennial::perenniald
