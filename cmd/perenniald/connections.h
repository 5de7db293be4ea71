#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <uv.h>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/acceptor.h"
#include "cmd/perenniald/clock.h"
#include "cmd/perenniald/core/core.h"

namespace perennial::perenniald {

// The clients. Moves bytes between their sockets and core and decides nothing: core says what to
// write, whether to read on, and when a connection is at its end.
//
// Invariants: a connection is in the map from open() to close(), and known to core for the same
// time; it has at most one write under way; all reads share one buffer, which core never keeps.
class Connections {
 public:
  // All three outlive this. Clients of other machines may ask for checkpoints only if `trust_all`.
  // `on_closed` is called when a descriptor has become free, `on_bytes` when core has been given
  // bytes: there may be more to come in this turn.
  Connections(uv_loop_t& loop, core::Core& core, TurnClock& clock, bool trust_all,
              std::function<void()> on_bytes, std::function<void()> on_closed);
  ~Connections();

  // Takes over the socket.
  void open(const AcceptedSocket& socket);
  // Writes what may leave, and reads on, stops, or closes as core says. Unknown numbers are passed
  // over.
  void service(ConnId id);
  // From here on nothing more is read from anybody.
  void stop_reading();
  // Whether any client has not yet taken all that it is to get.
  bool writing() const { return writes_ > 0; }
  // Closes all sockets, without a word to core.
  void close_all();

  size_t count() const { return connections_.size(); }

 private:
  struct Connection;

  static void on_alloc(uv_handle_t* handle, size_t suggested, uv_buf_t* buffer);
  static void on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer);
  static void on_write(uv_write_t* request, int status);
  static void on_close(uv_handle_t* handle);

  // `wanted`: how many bytes there was room for.
  void received(Connection& conn, ssize_t count, size_t wanted);
  // False when the connection is gone, or will be visited again.
  bool write_out(Connection& conn);
  void write_rest(Connection& conn);
  void set_reading(Connection& conn, bool reading);
  void close(Connection& conn);

  uv_loop_t& loop_;
  core::Core& core_;
  TurnClock& clock_;
  const bool trust_all_;
  std::function<void()> on_bytes_;
  std::function<void()> on_closed_;
  absl::flat_hash_map<ConnId, Connection*> connections_;  // Each is freed by its close callback.
  std::vector<char> buffer_;
  bool later_ = false;  // What is read into it now is kept, and run when its turn comes.
  ConnId last_id_ = 0;
  size_t writes_ = 0;
  bool stopped_ = false;
};

}  // namespace perennial::perenniald
