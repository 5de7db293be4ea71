#include "cmd/perenniald/connections.h"

#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/log.h"
#include "cmd/perenniald/sockets.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr size_t read_bytes = 64 << 10;
// For so long one turn of the loop runs what it reads. Of what else has been sent a little is read
// and waits for its turn, so that batches and answers leave in between, however much is sent by
// however many, and nobody waits for ever: libuv tells of sockets always in the same order. After
// so long nothing is read any more; who has been read enough is left out until he has been run, so
// that the others come next.
constexpr Nanos running_max = 10 * nanos_per_ms;
constexpr Nanos reading_max = 15 * nanos_per_ms;
constexpr size_t read_later_bytes = 4 << 10;

std::string peer_of(const uv_handle_t& handle) {
  uv_os_fd_t fd = -1;
  return uv_fileno(&handle, &fd) == 0 ? peer_name(fd) : "?";
}

}  // namespace

struct Connections::Connection {
  Connections* owner;
  ConnId id;
  union {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
  };
  uv_write_t write;
  std::string rest;  // What the write under way holds.
  bool reading = false;
  bool writing = false;
  bool at_end = false;
  bool closing = false;
};

Connections::Connections(uv_loop_t& loop, core::Core& core, TurnClock& clock, bool trust_all,
                         std::function<void()> on_bytes, std::function<void()> on_closed)
    : loop_(loop),
      core_(core),
      clock_(clock),
      trust_all_(trust_all),
      on_bytes_(std::move(on_bytes)),
      on_closed_(std::move(on_closed)),
      buffer_(read_bytes) {}

Connections::~Connections() {
  CHECK(connections_.empty());
}

void Connections::open(const AcceptedSocket& socket) {
  auto* const conn = new Connection{};
  conn->owner = this;
  conn->id = ++last_id_;
  if (socket.is_unix) {
    CHECK(uv_pipe_init(&loop_, &conn->pipe, 0) == 0);
    CHECK(uv_pipe_open(&conn->pipe, socket.fd) == 0);
  } else {
    CHECK(uv_tcp_init(&loop_, &conn->tcp) == 0);
    CHECK(uv_tcp_open(&conn->tcp, socket.fd) == 0);
  }
  conn->handle.data = conn;
  connections_.emplace(conn->id, conn);
  core_.on_open(conn->id, clock_.now(), socket.is_local || trust_all_);
  set_reading(*conn, !stopped_);
  log(Level::Debug, "conn.open", {{"conn", fmt::format("{}", conn->id)}});
}

void Connections::service(ConnId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = *found->second;
  if (!conn.writing && !write_out(conn)) return;
  set_reading(conn, !stopped_ && !conn.at_end && core_.reading(id));
  if (conn.writing || !core_.finished(id)) return;
  if (const std::optional<wire::Stranger> stranger = core_.stranger(id)) {
    log(Level::Warning, "conn.refused",
        {{"conn", fmt::format("{}", id)},
         {"peer", peer_of(conn.handle)},
         {"speaks", std::string(wire::stranger_name(*stranger))}});
  }
  close(conn);
}

// Tries at once: nearly always the kernel takes all of it, and there is nothing to wait for.
bool Connections::write_out(Connection& conn) {
  const std::string_view out = core_.output(conn.id);
  if (out.empty()) return true;
  const uv_buf_t bytes =
      uv_buf_init(const_cast<char*>(out.data()), static_cast<unsigned>(out.size()));
  const int written = uv_try_write(&conn.stream, &bytes, 1);
  if (written < 0 && written != UV_EAGAIN) {
    close(conn);
    return false;
  }
  const size_t left = out.size() - static_cast<size_t>(std::max(written, 0));
  if (written > 0) core_.on_written(conn.id, static_cast<size_t>(written));
  // What core has made of that shows in the next visit.
  if (left == 0) return false;
  write_rest(conn);
  return true;
}

// libuv tells that a socket takes bytes again by having written them, and does that for all sockets
// at once, however many there are. So it is given little; the rest waits for service(), which is
// called for as long as a turn has time.
void Connections::write_rest(Connection& conn) {
  constexpr size_t rest_bytes_max = 4 << 10;
  conn.rest = core_.output(conn.id).substr(0, rest_bytes_max);
  const uv_buf_t bytes = uv_buf_init(conn.rest.data(), static_cast<unsigned>(conn.rest.size()));
  conn.write.data = &conn;
  conn.writing = true;
  ++writes_;
  CHECK(uv_write(&conn.write, &conn.stream, &bytes, 1, on_write) == 0);
}

void Connections::on_write(uv_write_t* request, int status) {
  auto& conn = *static_cast<Connection*>(request->data);
  Connections& self = *conn.owner;
  conn.writing = false;
  --self.writes_;
  if (conn.closing) return;
  if (status != 0) return self.close(conn);
  const size_t bytes = std::exchange(conn.rest, {}).size();
  self.core_.on_written(conn.id, bytes);
}

void Connections::on_alloc(uv_handle_t* handle, size_t /*suggested*/, uv_buf_t* buffer) {
  Connections& self = *static_cast<Connection*>(handle->data)->owner;
  const Nanos turn = self.clock_.turn_so_far();
  // Without a buffer libuv reads nothing now, and asks again in the next turn.
  if (turn > reading_max) {
    *buffer = uv_buf_init(nullptr, 0);
    return;
  }
  // Those who wait for their turn come before those who are read now.
  self.later_ = self.core_.has_runnable() || turn > running_max;
  const size_t bytes = self.later_ ? read_later_bytes : read_bytes;
  *buffer = uv_buf_init(self.buffer_.data(), static_cast<unsigned>(bytes));
}

void Connections::on_read(uv_stream_t* stream, ssize_t count, const uv_buf_t* buffer) {
  if (buffer->base == nullptr) return;
  auto& conn = *static_cast<Connection*>(stream->data);
  conn.owner->received(conn, count, buffer->len);
}

void Connections::received(Connection& conn, ssize_t count, size_t wanted) {
  if (count == 0) return;
  if (count == UV_EOF) {
    conn.at_end = true;
    set_reading(conn, false);
    return core_.on_eof(conn.id, clock_.now());
  }
  if (count < 0) return close(conn);
  const auto bytes = static_cast<size_t>(count);
  core_.on_bytes(conn.id, std::span<const char>(buffer_.data(), bytes), clock_.now(), later_);
  // libuv goes on reading as long as it fills the buffer; here is where core can say that it is
  // enough.
  if (bytes == wanted) set_reading(conn, core_.reading(conn.id));
  on_bytes_();
}

void Connections::set_reading(Connection& conn, bool reading) {
  if (reading == conn.reading) return;
  conn.reading = reading;
  if (reading) {
    CHECK(uv_read_start(&conn.stream, on_alloc, on_read) == 0);
  } else {
    uv_read_stop(&conn.stream);
  }
}

void Connections::stop_reading() {
  stopped_ = true;
  for (const auto& entry : connections_) set_reading(*entry.second, false);
}

void Connections::close(Connection& conn) {
  core_.on_close(conn.id, clock_.now());
  connections_.erase(conn.id);
  conn.closing = true;
  uv_close(&conn.handle, on_close);
  log(Level::Debug, "conn.close", {{"conn", fmt::format("{}", conn.id)}});
  on_closed_();
}

void Connections::close_all() {
  for (const auto& entry : connections_) {
    entry.second->closing = true;
    uv_close(&entry.second->handle, on_close);
  }
  connections_.clear();
}

void Connections::on_close(uv_handle_t* handle) {
  delete static_cast<Connection*>(handle->data);
}

}  // namespace perennial::perenniald
