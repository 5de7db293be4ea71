#include "cmd/perenniald/net/connections.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr size_t read_bytes = 64 << 10;
constexpr size_t read_later_bytes = 4 << 10;

// Of a call that would have to wait, or that a signal has interrupted: the socket set will tell
// when to try again.
bool is_passing(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

Connections::Connections(uv_loop_t& loop, core::Core& core, TurnClock& clock,
                         const TurnBudget& budget, bool trust_all, std::function<void()> on_bytes,
                         std::function<void()> on_closed)
    : core_(core),
      clock_(clock),
      budget_(budget),
      trust_all_(trust_all),
      on_bytes_(std::move(on_bytes)),
      on_closed_(std::move(on_closed)),
      sockets_(
          loop, [this](ConnId id, SocketSet::Interest can) { on_ready(id, can); },
          [this] { return budget_.may_read(); }),
      buffer_(read_bytes) {}

Connections::~Connections() {
  CHECK(connections_.empty());
}

Status Connections::open(const AcceptedSocket& socket) {
  const ConnId id = ++last_id_;
  const SocketSet::Interest interest = {.reading = !stopped_};
  if (Status status = sockets_.add(socket.fd, id, interest); !status.ok()) {
    ::close(socket.fd);
    return status;
  }
  connections_.emplace(id, Connection{.id = id, .fd = socket.fd, .watched_for = interest});
  core_.on_open(id, clock_.now(), socket.is_local || trust_all_);
  log(Level::Debug, "conn.open", {{"conn", fmt::format("{}", id)}});
  return {};
}

void Connections::service(ConnId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = found->second;
  if (!conn.full && !write_out(conn)) return;
  watch(conn, core_.reading(id));
  if (conn.full || !core_.finished(id)) return;
  if (const std::optional<wire::Stranger> stranger = core_.stranger(id)) {
    log(Level::Warning, "conn.refused",
        {{"conn", fmt::format("{}", id)},
         {"peer", peer_name(conn.fd)},
         {"speaks", std::string(wire::stranger_name(*stranger))}});
  }
  close(conn);
}

// Tries at once: nearly always the kernel takes all of it, and there is nothing to wait for.
bool Connections::write_out(Connection& conn) {
  const std::string_view out = core_.output(conn.id);
  if (out.empty()) return true;
  const ssize_t result = ::send(conn.fd, out.data(), out.size(), MSG_NOSIGNAL);
  if (result < 0 && !is_passing(errno)) {
    close(conn);
    return false;
  }
  const auto written = static_cast<size_t>(std::max<ssize_t>(result, 0));
  set_full(conn, written < out.size());
  if (written > 0) core_.on_written(conn.id, written);
  if (conn.full) return true;
  // What core has made of that shows in the next visit.
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
  const bool later = core_.has_runnable() || !budget_.may_run_at_once();
  const std::span<char> room(buffer_.data(), later ? read_later_bytes : read_bytes);
  const ssize_t count = ::recv(conn.fd, room.data(), room.size(), 0);
  if (count < 0) {
    if (!is_passing(errno)) close(conn);
    return;
  }
  if (count == 0) {
    conn.ended = true;
    core_.on_eof(conn.id, clock_.now());
  } else {
    core_.on_bytes(conn.id, room.first(static_cast<size_t>(count)), clock_.now(), later);
  }
  // Core can say here that it is enough: there may be more of it in this turn.
  watch(conn, core_.reading(conn.id));
  on_bytes_();
}

// Of a client that is not read on: it waits for a job, and has sent more than is read behind that.
// The wait ends. What is unread is run and answered after that; if there is nobody any more to take
// the answer, writing it fails and ends the connection.
void Connections::on_ending(Connection& conn) {
  conn.ended = true;
  core_.on_half_close(conn.id, clock_.now());
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
  sockets_.change(conn.fd, conn.id, interest);
}

void Connections::stop_reading() {
  stopped_ = true;
  for (auto& [id, conn] : connections_) watch(conn, false);
}

void Connections::close(Connection& conn) {
  const ConnId id = conn.id;
  core_.on_close(id, clock_.now());
  set_full(conn, false);
  ::close(conn.fd);
  connections_.erase(id);
  log(Level::Debug, "conn.close", {{"conn", fmt::format("{}", id)}});
  on_closed_();
}

void Connections::close_all() {
  for (const auto& [id, conn] : connections_) ::close(conn.fd);
  connections_.clear();
  sockets_.close();
}

}  // namespace perennial::perenniald
