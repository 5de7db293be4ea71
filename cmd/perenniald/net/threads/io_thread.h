#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "cmd/common/round_robin.h"
#include "cmd/perenniald/net/streams/epoll_set.h"
#include "cmd/perenniald/net/streams/socket_batch.h"
#include "cmd/perenniald/net/threads/io_socket.h"
#include "cmd/perenniald/net/threads/mailbox.h"
#include "cmd/perenniald/net/threads/waker.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// What the loop tells a thread of one client.
struct Order {
  enum class Kind : uint8_t {
    Add,    // The thread has it from here on.
    Send,   // `bytes` of the mail are for it.
    Watch,  // What the loop wants to hear is `interest`; with `writing`, when it may send more.
    Close,  // The loop has left it. `in_order`: what is in flight is still sent.
  };
  IoSocket* socket;
  size_t bytes = 0;
  Kind kind = Kind::Add;
  bool in_order = false;
  EpollSet::Interest interest = {};
};

// What a thread tells the loop of one client, which may have left it meanwhile.
struct News {
  enum class Kind : uint8_t {
    Received,  // `bytes` of the mail came from it. `is_last`: it will send nothing behind them.
    Ended,     // It will send nothing more.
    Ending,    // The same, but some of its bytes are not read.
    Failed,    // The connection is broken.
    Read,      // Something was read: a part of a handshake, or half a record.
    Opened,    // Its stream is open.
    Writable,  // More may be sent.
    Closed,    // After Order::Close: its descriptor is closed.
  };
  ConnId conn;
  size_t bytes = 0;
  Kind kind = Kind::Received;
  bool is_last = false;
};

// A thread that moves the bytes of some clients: it reads and writes their sockets, and does what
// TLS costs, handshakes too. It decides nothing. What a client has sent goes to the loop, and what
// comes back leaves, both through a queue that goes over in one piece each turn.
//
// Both queues are bounded in bytes. While the loop has not taken news_bytes_max, no socket is read.
// Nor is one of which the loop has not heard unheard_bytes_max: its session may have had enough.
// What the loop may give is bounded by free_window().
class IoThread {
 public:
  // News and bytes of clients that wait for the loop.
  static constexpr size_t news_bytes_max = 512 << 10;
  // Bytes that were read of one client, before the loop has heard of them and has said whether it
  // wants more. One read more comes on top.
  static constexpr size_t unheard_bytes_max = 16 << 10;
  // Bytes in flight to one client: as long as all have in_flight_max together, and beyond that.
  static constexpr size_t window_bytes = 256 << 10;
  static constexpr size_t narrow_window_bytes = 4 << 10;
  static constexpr size_t in_flight_max = 16 << 20;

  struct Hooks {
    std::function<void()> wake_loop;  // There is news.
    std::function<void()>
        before_send;  // Each turn, before anything is sent. It may end the process.
  };
  // `name`: of the thread, at most 15 characters. `io_uring`: it moves the bytes of several clients
  // with one call, if the kernel allows that. `handshakes_per_turn`: how many make progress in a
  // turn, so that those that are open are served in between.
  IoThread(std::string name, bool io_uring, uint64_t handshakes_per_turn, Hooks hooks);
  // REQUIRES: stop(), if it was started.
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // ---- The loop's side.
  void start();
  // Does what was ordered, closes all sockets, and ends the thread. News is not told any more.
  void stop();
  // Adds an order, which goes over with flush(). `bytes`: of Order::Send.
  void order(const Order& order, std::string_view bytes = {});
  void flush();
  // How many bytes may be sent to this client now, perhaps none.
  size_t free_window(const IoSocket& socket) const;
  // Takes all news. Returns false if there is none.
  bool take(Mail<News>& mail);
  // So many more items of the news were heard, and the orders that come of them are given.
  void on_heard(size_t items) { heard_by_loop_ += items; }
  bool has_news() const { return news_.has_mail(); }
  // Clients that it has, those among them that the loop has left.
  size_t sockets() const { return added_ - closed_; }
  void on_closed() { ++closed_; }

  // ---- On any thread.
  const std::string& name() const { return name_; }  // As the kernel shows it.
  size_t in_flight() const { return in_flight_; }
  // When its present turn began, by TurnClock::steady(). 0: it waits.
  Nanos turn_began() const { return turn_began_.load(std::memory_order_relaxed); }
  // Processor time that it has used. REQUIRES: it was started.
  Nanos cpu_time() const;

  // ---- The thread itself: what start() does there. A simulation does it in its place, and has the
  // loop between any two parts.
  void begin();
  // Does the next part of a turn. Returns false when it has stopped, and has closed all sockets.
  bool do_next_part();
  // Whether the next part would block.
  bool would_block() const;

 private:
  enum class Part : uint8_t { Announce, Look, Wait, Orders, Clients, Tell };
  void announce();
  void look();
  void wait();
  void tell_loop();
  bool take_orders();
  void carry_out(const Order& order, std::string_view bytes);
  bool may_batch() const;
  bool may_read() const;
  void on_ready(std::span<const EpollSet::Report> reports);
  void on_ready(IoSocket& socket, EpollSet::Interest can);
  // Reading.
  void receive_together(std::span<IoSocket* const> sockets);
  void read(IoSocket& socket);
  void rest_if_unheard(IoSocket& socket, size_t bytes);
  void end_rests();
  void shake_hands();
  void on_read(IoSocket& socket, Stream::Outcome got, std::span<char> bytes);
  // Writing.
  void send(IoSocket& socket, std::string_view bytes);
  void send_batch();
  void on_sent(IoSocket& socket, std::string_view bytes, Stream::Outcome sent);
  void send_unsent(IoSocket& socket);
  void count_sent(IoSocket& socket, size_t bytes);
  void tell_if_writable(IoSocket& socket);
  // Ends.
  void fail(IoSocket& socket);
  void close(IoSocket& socket);
  void watch(IoSocket& socket);
  void tell(const IoSocket& socket, News::Kind kind) {
    mail_.items.push_back({.conn = socket.id, .kind = kind});
  }

  const std::string name_;
  const bool io_uring_;
  const uint64_t handshakes_per_turn_;
  const Hooks hooks_;
  Waker waker_;
  const int set_fd_;
  EpollSet set_{set_fd_};

  Mailbox<Order> orders_;
  Mailbox<News> news_;
  std::atomic<size_t> in_flight_ = 0;
  std::atomic<bool> waits_for_loop_ = false;     // It does not read until the loop takes news.
  std::atomic<uint64_t> heard_ = 0;              // Items of news, whose orders have gone over.
  std::atomic<bool> waits_until_heard_ = false;  // Some socket rests.
  std::atomic<bool> stopping_ = false;
  std::atomic<Nanos> turn_began_ = 0;

  // The loop's.
  Mail<Order> outgoing_;
  uint64_t heard_by_loop_ = 0;
  size_t added_ = 0;
  size_t closed_ = 0;

  // The thread's.
  Part part_ = Part::Announce;  // The next one.
  bool looks_at_set_ = true;    // In this turn, and not only for what the loop has.
  bool may_block_ = false;      // In this turn.
  std::array<EpollSet::Report, EpollSet::reports_max> reports_;
  size_t reports_count_ = 0;
  std::unique_ptr<SocketBatch> batch_;  // Null: each client has calls of its own.
  absl::flat_hash_map<ConnId, std::unique_ptr<IoSocket>> sockets_;
  Mail<Order> incoming_;
  Mail<News> mail_;
  uint64_t posted_ = 0;               // Items of news.
  uint64_t heard_seen_ = 0;           // heard_, before the orders of this turn were taken.
  std::vector<ConnId> resting_ = {};  // Sockets that rest; some may be gone.
  struct Sending {
    IoSocket* socket;
    std::string_view bytes;
  };
  std::vector<Sending> sending_;  // What the batch sends.
  std::vector<IoSocket*> receiving_;
  std::vector<char> received_;  // Of the sockets that are read together.
  std::vector<char> buffer_;
  common::RoundRobin handshakes_;  // Those that wait for their turn.

  std::thread thread_;
};

}  // namespace perennial::perenniald
