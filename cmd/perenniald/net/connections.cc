#include "cmd/perenniald/net/connections.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr size_t read_bytes = 64 << 10;
constexpr size_t read_later_bytes = 4 << 10;

}  // namespace

Connections::Connections(uv_loop_t& loop, TurnClock& clock, const TurnBudget& budget, Hooks hooks)
    : clock_(clock),
      budget_(budget),
      hooks_(std::move(hooks)),
      sockets_(
          loop, [this](ConnId id, SocketSet::Interest can) { on_ready(id, can); },
          [this] { return budget_.may_read(); }),
      buffer_(read_bytes) {}

Connections::~Connections() {
  CHECK(connections_.empty());
}

std::unique_ptr<Stream> Connections::make_stream(const AcceptedSocket& socket) {
  switch (socket.role) {
    case ListenerRole::Queue:
      return std::make_unique<PlainStream>(socket.fd);
  }
  CHECK(false);
}

Status Connections::open(const AcceptedSocket& socket) {
  const ConnId id = ++last_id_;
  const SocketSet::Interest interest = {.reading = !stopped_};
  Connection conn = {.id = id, .stream = make_stream(socket), .watched_for = interest};
  if (Status status = sockets_.add(socket.fd, id, interest); !status.ok()) return status;
  conn.session = &hooks_.open(id, socket);
  connections_.emplace(id, std::move(conn));
  log(Level::Debug, "conn.open", {{"conn", fmt::format("{}", id)}});
  return {};
}

void Connections::service(ConnId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = found->second;
  if (!conn.full && !write_out(conn)) return;
  watch(conn, conn.session->reading());
  if (conn.full || !conn.session->finished()) return;
  if (const std::string_view speaks = conn.session->speaks(); !speaks.empty()) {
    log(Level::Warning, "conn.refused",
        {{"conn", fmt::format("{}", id)},
         {"peer", peer_name(conn.stream->fd())},
         {"speaks", std::string(speaks)}});
  }
  close(conn);
}

// Tries at once: nearly always the kernel takes all of it, and there is nothing to wait for.
bool Connections::write_out(Connection& conn) {
  const std::string_view out = conn.session->output();
  if (out.empty()) return true;
  const Stream::Outcome written = conn.stream->write(out);
  if (written.state == Stream::State::Failed) {
    close(conn);
    return false;
  }
  set_full(conn, written.bytes < out.size());
  if (written.bytes > 0) conn.session->on_written(written.bytes);
  if (conn.full) return true;
  // What the session has made of that shows in the next visit.
  watch(conn, conn.watched_for.reading);
  return false;
}

void Connections::on_ready(ConnId id, SocketSet::Interest can) {
  clock_.now();  // The turn may begin with this.
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = found->second;
  if (can.ending && conn.watched_for.ending) on_ending(conn);
  if (can.writing && conn.full) {
    set_full(conn, false);
    service(id);
    // It may be gone now. What it has sent can be read in the next round.
  } else if (can.reading && conn.watched_for.reading) {
    read(conn);
  }
}

void Connections::read(Connection& conn) {
  // Those who wait for their turn come before those who are read now.
  const bool later = hooks_.has_waiting() || !budget_.may_run_at_once();
  const std::span<char> room(buffer_.data(), later ? read_later_bytes : read_bytes);
  const Stream::Outcome got = conn.stream->read(room);
  switch (got.state) {
    case Stream::State::Blocked:
      return;
    case Stream::State::Failed:
      return close(conn);
    case Stream::State::Ended:
      conn.ended = true;
      conn.session->on_eof(clock_.now());
      break;
    case Stream::State::Done:
      conn.session->on_bytes(room.first(got.bytes), clock_.now(), later);
      break;
  }
  // The session can say here that it is enough: there may be more of it in this turn.
  watch(conn, conn.session->reading());
  hooks_.on_bytes();
}

// Of a client that is not read on: it waits for a job, and has sent more than is read behind that.
// The wait ends. What is unread is run and answered after that; if there is nobody any more to take
// the answer, writing it fails and ends the connection.
void Connections::on_ending(Connection& conn) {
  conn.ended = true;
  conn.session->on_half_close(clock_.now());
  watch(conn, conn.watched_for.reading);
}

void Connections::set_full(Connection& conn, bool full) {
  if (full && !conn.full) ++full_count_;
  if (!full && conn.full) --full_count_;
  conn.full = full;
}

void Connections::watch(Connection& conn, bool reading) {
  const bool reads = reading && !stopped_;
  const SocketSet::Interest interest = {
      .reading = reads, .writing = conn.full, .ending = !reads && !stopped_ && !conn.ended};
  if (interest == conn.watched_for) return;
  conn.watched_for = interest;
  sockets_.change(conn.stream->fd(), conn.id, interest);
}

void Connections::stop_reading() {
  stopped_ = true;
  for (auto& [id, conn] : connections_) watch(conn, false);
}

void Connections::close(Connection& conn) {
  const ConnId id = conn.id;
  conn.session->on_close(clock_.now());
  set_full(conn, false);
  connections_.erase(id);
  log(Level::Debug, "conn.close", {{"conn", fmt::format("{}", id)}});
  hooks_.on_closed();
}

void Connections::close_all() {
  connections_.clear();
  sockets_.close();
}

}  // namespace perennial::perenniald
