#pragma once

// The queues between the loop and the threads that move bytes. Nothing here is a thread: a
// simulation does the parts of their turns itself, in an order that somebody chooses, with turns of
// the loop and what clients do in between. So what one side does while the other is between "there
// is nothing to do" and going to sleep happens again with the same choices. A side that sleeps is
// only continued when its descriptor says so: a wake-up that is lost leaves work that nobody does,
// and the run fails.
//
// Fields: bytes in both directions in pieces of 1 to 700,000, handshakes, sessions that stop to
// read, clients that take nothing, ends of either side at any moment, a loop that rests, one to
// three threads, with a ring and without. Blind to: what happens inside a part, which is one lock
// or one atomic (TSan and io_threads_test.cc see that), to memory orders, to TLS, and to time.
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/perenniald/net/connections.h"
#include "tests/cmd/perenniald/net/connection_fakes.h"

namespace perennial::perenniald {

class IoThreadsSimulation : public FakeClients {
 public:
  // Returns a number below the one that it is given. It chooses everything.
  using Choose = std::function<uint64_t(uint64_t below)>;

  explicit IoThreadsSimulation(Choose choose) : choose_(std::move(choose)) {
    const IoThreads::Settings settings = {
        .count = 1 + below(3), .io_uring = one_in(2), .handshakes_per_turn = 1 + below(3)};
    make_connections({.handshakes = {.ms_max = 1'000'000, .per_turn_max = 2}}, nullptr,
                     std::make_unique<IoThreads>(settings));
    uv_run(&loop_, UV_RUN_NOWAIT);  // It watches its own descriptors from here on.
    connections_->take_over(loop_);
    for (const auto& thread : threads()) thread->begin();
    with_handshake_ = one_in(2);
    if (one_in(4)) {
      says_much_ = 2;
    } else if (one_in(2)) {
      clients_max_ = 120;
    }
  }
  ~IoThreadsSimulation() override { stop_threads(); }

  // It fails as a test does.
  void run(
      int steps, const std::function<bool()>& is_over = [] { return false; }) {
    for (int step = 0; step < steps && !is_over() && !testing::Test::HasFailure(); ++step) act();
    if (!testing::Test::HasFailure()) come_to_rest();
    if (!testing::Test::HasFailure()) expect_all_delivered();
    if (!testing::Test::HasFailure()) end_all();
  }

 private:
  struct Client {
    ConnId id = 0;
    int fd = -1;             // The client's end. -1: it has closed it.
    int server_fd = -1;      // The other end, as long as its session is not closed.
    std::string said = {};   // All that it has sent to its session.
    std::string heard = {};  // All that it was sent.
    std::string told = {};   // All that its session was told to say.
    size_t heard_until = 0;  // Bytes that its session had heard when it did not want any more.
    bool greets = false;     // It has to begin with a greeting.
    bool ended = false;      // It sends nothing more.
    bool finished = false;   // The session ends it.
  };

  // As Turn has it: what was read, then what sessions say, then to sleep.
  enum class LoopPart : uint8_t { Wait, Serve, Flush, Sleep };

  uint64_t below(uint64_t bound) { return choose_(bound); }
  bool one_in(uint64_t chances) { return below(chances) == 0; }
  std::span<const std::unique_ptr<IoThread>> threads() const {
    return connections_->threads()->all();
  }

  // ---- What happens next.

  void act() {
    const uint64_t choice = below(100);
    if (choice < 45) {
      part_of_thread(*threads()[below(threads().size())]);
    } else if (choice < 65) {
      if (!may_rest()) part_of_loop();
    } else if (choice < 70) {
      timer_of_loop();
    } else if (choice < 72) {
      // Also many at once, so that handshakes wait for their turn.
      for (uint64_t count = one_in(4) ? clients_max_ / 4 : 1;
           count > 0 && all_.size() < clients_max_; --count) {
        connect();
        if (one_in(2)) say_some(all_.back(), 1);
      }
    } else if (!all_.empty()) {
      act_of_client(all_[below(all_.size())]);
    }
    expect_bounds();
  }

  bool part_of_thread(IoThread& thread) {
    if (thread.would_block()) return false;
    EXPECT_TRUE(thread.do_next_part());
    return true;
  }

  // A loop that is slow now and then: the threads go on meanwhile.
  bool may_rest() {
    if (rests_ > 0) return --rests_ > 0;
    if (one_in(50)) rests_ = below(200);
    return false;
  }

  bool is_loop_asleep() const {
    pollfd set = {.fd = connections_->set_fd(), .events = POLLIN, .revents = 0};
    return sleeps_ && ::poll(&set, 1, 0) == 0;
  }

  bool part_of_loop() {
    switch (loop_part_) {
      case LoopPart::Wait:
        if (is_loop_asleep()) return false;
        sleeps_ = false;
        if (one_in(400)) outlast_time_for_reading();
        connections_->wait(0);
        uv_run(&loop_, UV_RUN_NOWAIT);
        loop_part_ = LoopPart::Serve;
        return true;
      case LoopPart::Serve:
        for (Client& client : all_) answer(client);
        clock_.end_turn();
        // It may have more to do, and give the threads nothing yet.
        loop_part_ = one_in(3) ? LoopPart::Wait : LoopPart::Flush;
        return true;
      case LoopPart::Flush:
        connections_->flush();
        loop_part_ = LoopPart::Sleep;
        return true;
      case LoopPart::Sleep:
        sleeps_ = connections_->may_block();
        loop_part_ = LoopPart::Wait;
        return true;
    }
    return false;
  }

  // Something else has taken all the time of this turn, so most news is heard in the next one.
  void outlast_time_for_reading() {
    clock_.now();
    while (budget_.may_read()) continue;
  }

  // A timer, or a socket that listens: it does not sleep any more.
  void wake_loop() {
    sleeps_ = false;
    loop_part_ = LoopPart::Serve;
  }

  // A session speaks without having heard anything, or changes its mind.
  void timer_of_loop() {
    if (!all_.empty()) {
      Client& client = all_[below(all_.size())];
      if (FakeSession* of = session_of(client); of != nullptr && !client.finished) {
        if (one_in(3)) {
          of->reads = !of->reads;
          client.heard_until = of->heard.size();
        }
        if (one_in(2)) tell(client, one_in(8) ? 700'000 : 1 + below(3'000));
        if (one_in(20)) client.finished = of->is_finished = true;
        serve(client);
      }
    }
    wake_loop();
  }

  void answer(Client& client) {
    FakeSession* of = session_of(client);
    if (of == nullptr) return;
    if (of->ended) client.finished = of->is_finished = true;
    if (of->heard.size() % 3 == 1 && !client.finished && one_in(3)) tell(client, 1 + below(200));
    if (!of->says.empty() || of->is_finished) serve(client);
  }

  // A visit that has written something asks for another one.
  void serve(const Client& client) {
    for (size_t rest = SIZE_MAX; session_of(client) != nullptr;) {
      if (session_of(client)->says.size() == rest) return;
      rest = session_of(client)->says.size();
      connections_->service(client.id);
    }
  }

  void tell(Client& client, size_t bytes) {
    const std::string words = text(client.told.size(), bytes);
    client.told += words;
    session_of(client)->says += words;
  }

  // Null: there is none yet, or no more.
  FakeSession* session_of(const Client& client) {
    const auto found = sessions_.find(client.id);
    return found == sessions_.end() || found->second.closed ? nullptr : &found->second;
  }

  void connect() {
    std::array<int, 2> ends = {};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    const auto role = one_in(4) ? ListenerRole::Http : ListenerRole::Queue;
    EXPECT_TRUE(connections_->open({.fd = ends[0], .is_local = true, .role = role}).ok());
    all_.push_back(
        {.id = all_.size() + 1, .fd = ends[1], .server_fd = ends[0], .greets = with_handshake_});
    wake_loop();
  }

  void act_of_client(Client& client) {
    if (client.fd < 0) return;
    const uint64_t choice = below(100);
    if (choice < 50) {
      say_some(client, one_in(says_much_) ? 1 + below(100'000) : 1 + below(300));
    } else if (choice < 95) {
      hear_some(client, one_in(4) ? 1 << 20 : 1 + below(5'000));
    } else if (choice < 98) {
      client.ended = true;
      shutdown(client.fd, SHUT_WR);
    } else {
      leave(client);
    }
  }

  void say_some(Client& client, size_t bytes) {
    if (client.ended) return;
    if (std::exchange(client.greets, false)) {
      say(client.fd, "open ");
      return;
    }
    const std::string words = text(client.said.size() + client.id, bytes);
    const ssize_t sent = send(client.fd, words.data(), words.size(), MSG_NOSIGNAL);
    if (sent > 0) client.said.append(words, 0, static_cast<size_t>(sent));
  }

  bool hear_some(Client& client, size_t bytes) {
    if (client.fd < 0) return false;
    const ssize_t count = recv(client.fd, piece_.data(), bytes, 0);
    if (count <= 0) return false;
    std::string words(piece_.data(), static_cast<size_t>(count));
    // Behind a handshake a stream says "bye" when it ends, which its session did not.
    std::erase_if(words, [](char letter) { return letter >= 'a' && letter <= 'z'; });
    client.heard += words;
    return true;
  }

  static void leave(Client& client) {
    close(client.fd);
    client.fd = -1;
  }

  // Bytes of which a piece that is lost, doubled or moved is noticed: its place is in them.
  static std::string text(size_t at, size_t bytes) {
    std::string words;
    for (size_t i = at; words.size() < bytes; ++i) {
      words += static_cast<char>('A' + (i * 7 + i / 26 + i / 5'000) % 26);
    }
    return words;
  }

  // ---- What has to be so.

  void expect_bounds() {
    size_t in_flight = 0;
    for (const auto& thread : threads()) in_flight += thread->in_flight();
    EXPECT_LE(in_flight, all_.size() * IoThread::window_bytes);
    EXPECT_TRUE(in_flight == 0 || connections_->writing());
    size_t unheard = 0;  // By sessions, of what threads have read.
    for (const Client& client : all_) {
      const auto found = sessions_.find(client.id);
      const size_t heard = found == sessions_.end() ? 0 : found->second.heard.size();
      ASSERT_LE(heard, client.said.size()) << "client " << client.id << " did not say that";
      ASSERT_LE(client.heard.size(), client.told.size());
      if (found == sessions_.end() || found->second.closed) continue;
      constexpr size_t read_of_one = 64 << 10;
      const bool has_enough = !found->second.reads;
      ASSERT_TRUE(!has_enough ||
                  heard - client.heard_until < IoThread::unheard_bytes_max + read_of_one)
          << "client " << client.id << " was read long after its session had enough";
      int unread = 0;
      ASSERT_EQ(ioctl(client.server_fd, FIONREAD, &unread), 0);
      unheard += client.said.size() - heard - static_cast<size_t>(unread);
    }
    // What waits for the loop, and what it has taken and not heard.
    constexpr size_t pieces = 2;
    constexpr size_t read_at_once = 192 << 10;
    EXPECT_LE(unheard, threads().size() * pieces * (IoThread::news_bytes_max + read_at_once));
  }

  // Nobody does anything any more but to go on with what is there, each for as long as it is awake.
  // Before that all say something, which the threads have read before the loop goes on, perhaps in
  // a turn that has no time to hear all of it.
  void come_to_rest() {
    rests_ = 0;
    for (Client& client : all_) {
      if (client.fd >= 0) say_some(client, says_much_ == 2 ? 200'000 : 1);
      if (FakeSession* of = session_of(client)) {
        of->reads = true;
        serve(client);
      }
    }
    connections_->flush();
    for (const auto& thread : threads()) {
      while (part_of_thread(*thread)) continue;
    }
    clock_.end_turn();
    if (one_in(4)) outlast_time_for_reading();
    sleeps_ = false;
    loop_part_ = LoopPart::Wait;
    // Each does some parts in turn, or none, so it has come to rest when nobody did any for long.
    for (int still = 0; still < 30; ++still) {
      for (const auto& thread : threads()) {
        for (uint64_t parts = below(4); parts > 0; --parts) {
          if (part_of_thread(*thread)) still = 0;
        }
      }
      for (uint64_t parts = below(4); parts > 0; --parts) {
        if (part_of_loop()) still = 0;
      }
      for (Client& client : all_) {
        if (hear_some(client, 1 << 20)) still = 0;
      }
    }
  }

  void expect_all_delivered() {
    for (const Client& client : all_) {
      SCOPED_TRACE(client.id);
      const auto found = sessions_.find(client.id);
      const FakeSession* of = found == sessions_.end() ? nullptr : &found->second;
      if (of != nullptr) {
        EXPECT_TRUE(client.said.starts_with(of->heard));
        EXPECT_TRUE(client.told.starts_with(client.heard));
      }
      if (client.fd < 0) {
        EXPECT_TRUE(of == nullptr || of->closed) << "it has left, and its session was not told";
        continue;
      }
      if (client.ended && of == nullptr) continue;  // It has ended before its handshake.
      ASSERT_NE(of, nullptr) << "a handshake that nobody goes on with";
      EXPECT_EQ(client.heard.size(), client.told.size()) << "an answer that did not leave";
      if (client.finished && !of->ended) continue;  // What it says then is not read.
      EXPECT_EQ(of->heard.size(), client.said.size()) << "a request that nobody has heard";
      EXPECT_EQ(of->ended, client.ended);
    }
    EXPECT_FALSE(connections_->writing());
  }

  void end_all() {
    for (Client& client : all_) {
      if (client.fd >= 0) leave(client);
    }
    come_to_rest();
    EXPECT_EQ(connections_->count(), 0u);
    EXPECT_EQ(connections_->handshakes_pending(), 0u);
    for (const auto& thread : threads()) {
      EXPECT_EQ(thread->sockets(), 0u);
      EXPECT_EQ(thread->in_flight(), 0u);
    }
  }

  void stop_threads() {
    for (Client& client : all_) {
      if (client.fd >= 0) leave(client);
    }
    for (const auto& thread : threads()) {
      while (!thread->would_block()) thread->do_next_part();
    }
  }

  const Choose choose_;
  std::vector<char> piece_ = std::vector<char>(1 << 20);
  std::vector<Client> all_;
  LoopPart loop_part_ = LoopPart::Wait;
  bool sleeps_ = false;      // The loop has found nothing to do, and blocks.
  uint64_t says_much_ = 10;  // One in so many pieces of a client is large.
  uint64_t clients_max_ = 12;
  uint64_t rests_ = 0;  // Turns that the loop is late for.
};

}  // namespace perennial::perenniald
