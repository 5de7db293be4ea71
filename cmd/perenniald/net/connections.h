#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <uv.h>

#include "absl/container/node_hash_map.h"
#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/loop/turn_budget.h"
#include "cmd/perenniald/net/acceptor.h"
#include "cmd/perenniald/net/address_shares.h"
#include "cmd/perenniald/net/handshakes.h"
#include "cmd/perenniald/net/socket_set.h"
#include "cmd/perenniald/net/streams/proxy_stream.h"
#include "cmd/perenniald/net/streams/socket_batch.h"
#include "cmd/perenniald/net/streams/stream.h"
#include "cmd/perenniald/net/threads/io_threads.h"
#include "cmd/perenniald/net/threads/remote_stream.h"
#include "cmd/perenniald/process/client_log.h"

namespace perennial::perenniald {

struct ConnectionLimits {
  HandshakeLimits handshakes = {};
  // Connections to the queue from one address; of IPv6, from one network of 64 bits. Clients on
  // this machine are not limited, and leave_share() takes one out.
  uint64_t per_address_max = UINT64_MAX;
};

// The clients. Moves bytes between their streams and their sessions, and decides nothing: a session
// says what to write, whether to read on, and when it is finished.
//
// Invariants: A connection is in the map from open() to close(), and has a session from the time
// when its stream is open. Its output stays in its session until its stream has taken it. All reads
// share one buffer, which no session keeps.
class Connections {
 public:
  // Who makes their streams and sessions, and is told what the turn needs to know.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Creates the stream of a new client, which takes over the socket.
    virtual std::unique_ptr<Stream> make_stream(const AcceptedSocket& socket) = 0;
    // Creates the session of a client whose stream is open. `peer` is null if the client has shown
    // no certificate, and valid for as long as the connection.
    virtual core::Session& open_session(ConnId conn, const AcceptedSocket& socket,
                                        const PeerIdentity* peer) = 0;
    // Whether sessions wait for their turn. They come before clients that are read now.
    virtual bool has_waiting_sessions() = 0;
    // Something was read for the first time that a client has sent to its session: is_unread().
    virtual void on_first_read(ConnId conn) = 0;
    // A session was given bytes, and more may come in this turn.
    virtual void on_bytes() = 0;
    // A connection was closed, or a handshake has ended, so one more client may be accepted.
    virtual void on_slot_free() = 0;
    // Whether a thread may move the bytes of this client, where there are such threads. Of others
    // begin_anew() and end_output() may be called.
    virtual bool may_use_thread(const AcceptedSocket& socket) = 0;
  };
  // All of them outlive this.
  // `batch`: moves the bytes of several clients with one call. Null: each has a call of its own.
  // `threads`: move the bytes of those clients that may use them. Null: the loop moves all.
  Connections(uv_loop_t& loop, TurnClock& clock, const TurnBudget& budget,
              const ConnectionLimits& limits, std::unique_ptr<SocketBatch> batch,
              std::unique_ptr<IoThreads> threads, Owner& owner);
  ~Connections();

  // Takes over the socket, which is closed at once if its address has too many. Io: it cannot be
  // watched, and is closed.
  Status open(const AcceptedSocket& socket);
  // Closes a client that may not come, and says why in the log. Ok.
  Status refuse(const AcceptedSocket& socket, ClientLine line, std::string_view why);
  // Writes a line that a client has caused, as refuse() does: ClientLog.
  void log_client(ClientLine line, std::initializer_list<Field> fields) {
    client_log_.log(line, clock_.now(), fields);
  }
  // Writes what may leave, and reads on, stops reading, or closes the connection, as its session
  // says. Does nothing if the connection is closed.
  void service(ConnId id);
  // Does the same for some of them, from the first on, and returns for how many: at least one. All
  // output leaves with one call to the kernel. REQUIRES: `ids` is not empty, and names no
  // connection twice.
  size_t service_some(std::span<const ConnId> ids);
  // Tells the other side that nothing more will be sent to it, and reads on. Does nothing if the
  // connection is closed.
  void end_output(ConnId id);
  // Gives a client a stream and a session as if it had just connected and had sent `early`. Its
  // session is gone already, and has written nothing. REQUIRES: its stream is plain.
  void begin_anew(ConnId id, std::string_view early, bool ended);
  // From here on the loop blocks in wait(): socket_set.h.
  void take_over(uv_loop_t& loop) { sockets_.take_over(loop); }
  void wait(int timeout_ms);
  // The two things that wait() does before it blocks: it tells the threads that the loop has to be
  // woken from now on, and looks whether there is news already. REQUIRES: there are threads.
  bool may_block();
  // Can be read when wait() would not block.
  int set_fd() const { return sockets_.fd(); }
  // Gives the threads what there is for them. Call it before the loop blocks, and before anything
  // that takes long. Does nothing without threads.
  void flush();
  // Null: there are none.
  IoThreads* threads() const { return threads_.get(); }
  // Those whose bytes the loop moves itself.
  size_t count_on_loop() const { return connections_.size() + leaving_ - count_on_threads(); }
  // Closes the clients whose certificates are revoked, and says so in the log. It is not called
  // while a session is.
  void close_revoked();
  // The connection no longer counts for its address, because its client has shown who it is. Does
  // nothing if the connection is closed.
  void leave_share(ConnId id);
  // Reads nothing from any client from now on, and closes those whose handshake is not finished.
  void stop_reading();
  // Whether any client has output that its stream, or the kernel, did not take yet.
  bool writing() const {
    return full_count_ > 0 || (threads_ != nullptr && threads_->in_flight() > 0);
  }
  // Closes all sockets, without a call to their sessions, and the set that watches them, and ends
  // the threads. This is the last call.
  void close_all();

  // Those are among them of which a thread still sends the last bytes.
  size_t count() const { return connections_.size() + leaving_; }
  const HandshakeCounts& handshake_counts() const { return handshake_counts_; }
  // What clients of the queue have sent, and what has left to them, before TLS and behind it.
  struct Bytes {
    uint64_t in = 0;
    uint64_t out = 0;
  };
  const Bytes& queue_bytes() const { return queue_bytes_; }
  // Whether a client has sent something, and nothing of it was read for its session yet.
  bool is_unread(ConnId id) const;
  // Whether its session has output, and the client has taken all that it was given so far.
  bool takes_output(ConnId id) const;
  // Where a client comes from: "127.0.0.1:4711", "unix", or nothing if it is gone.
  std::string peer_of(ConnId id) const;
  // Handshakes that wait for their turn go on, as many as may in this turn of the loop. Call it
  // once in each turn, while has_waiting_handshakes().
  void continue_handshakes();
  bool has_waiting_handshakes() const { return handshakes_.has_waiting(); }
  // Whether one more client may begin a handshake.
  bool may_begin_handshake() { return handshakes_.has_slot(); }
  size_t handshakes_pending() const { return handshakes_.pending(); }
  // Connections to the queue that were closed at once: their address had too many.
  uint64_t without_place() const { return without_place_; }

 private:
  struct Connection {
    ConnId id = 0;
    AcceptedSocket socket;
    std::string share;  // It counts for this one in shares_.
    std::unique_ptr<Stream> stream = {};
    ProxyStream* proxy = nullptr;      // It is the stream, until the header is there.
    RemoteStream* remote = nullptr;    // It is the stream: a thread moves the bytes.
    core::Session* session = nullptr;  // Null: the stream is not open yet.
    bool full = false;                 // Its stream takes no more of its output now.
    bool was_read = false;             // Something of it was read for its session.
    bool ended = false;                // Its session knows that the client will send nothing more.
    SocketSet::Interest watched_for;
  };

  void begin_session(Connection& conn);
  void on_ready(std::span<const SocketSet::Report> reports);
  void on_ready(const SocketSet::Report& report);
  bool add_input(const SocketSet::Report& report);
  void receive_together(std::span<const SocketSet::Report> reports);
  bool may_batch() const;
  std::span<const Stream::Outcome> run_batch();
  bool must_read_later() const;
  void read(Connection& conn);
  void read_now(Connection& conn);
  void on_read(Connection& conn, Stream::Outcome got, std::span<char> bytes, bool later);
  void mark_read(Connection& conn);
  bool is_served(Connection& conn, Stream::Outcome got);
  void on_last_byte(Connection& conn);
  void on_ending(Connection& conn);
  void on_writable(Connection& conn);
  bool is_silent(ConnId id) const;
  void end_handshake(ConnId id, const std::string& why);
  static std::string peer_of(const AcceptedSocket& socket);
  static void log_connection(std::string_view at, const Connection& conn);
  bool begin_behind_proxy(Connection& conn);
  void on_handshake_refused(const Connection& conn, const std::string& why);
  // Returns false if the connection is closed, or will be visited again.
  bool write_out(Connection& conn);
  static size_t write_bytes_max(const Connection& conn) {
    const bool is_http = conn.socket.role == ListenerRole::Http;
    return is_http ? TurnBudget::http_write_bytes_max : TurnBudget::write_bytes_max;
  }
  bool on_written(Connection& conn, size_t out_bytes, Stream::Outcome written);
  void give_to_thread(Connection& conn, bool reading);
  void on_waker();
  void take_news();
  void on_news(const News& news, std::span<char> bytes);
  void on_news(Connection& conn, const News& news, std::span<char> bytes);
  bool has_unheard_news() const;
  size_t count_on_threads() const { return threads_ == nullptr ? 0 : threads_->sockets(); }
  bool add_output(ConnId id);
  void send_together(std::span<const ConnId> ids);
  void set_full(Connection& conn, bool full);
  void watch(Connection& conn, bool reading);
  void close(Connection& conn);

  TurnClock& clock_;
  const TurnBudget& budget_;
  Owner& owner_;
  SocketSet sockets_;
  std::unique_ptr<SocketBatch> batch_;  // Null: each client has a call of its own.
  size_t batch_bytes_ = 0;
  std::vector<size_t> output_sizes_;  // Of the clients of the batch that are sent to.
  std::vector<bool> is_received_;     // Of each report: the batch reads its client.
  std::vector<char> received_;        // read_later_bytes_max for each client of the batch.
  Handshakes handshakes_;
  HandshakeCounts handshake_counts_;
  Bytes queue_bytes_;
  std::unique_ptr<IoThreads> threads_;  // Null: the loop moves all bytes.
  // What a thread has told, and how much of it was heard.
  struct Heard {
    Mail<News> mail;
    size_t items = 0;
    size_t bytes = 0;
  };
  std::vector<Heard> heard_;  // Of each thread.
  size_t leaving_ = 0;        // Clients that threads have and that are no connections any more.
  ClientLog client_log_;
  AddressShares shares_;  // Of connections to the queue.
  uint64_t without_place_ = 0;
  absl::node_hash_map<ConnId, Connection> connections_;
  std::vector<char> buffer_;
  ConnId last_id_ = 0;
  size_t full_count_ = 0;
  bool stopped_ = false;
};

}  // namespace perennial::perenniald
