#include "cmd/perenniald/net/connections.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/common/secret.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr std::string_view over_share = "connections_per_address_max";

// Stands for the waker of the threads in the set, where others have the number of a connection,
// which is not 0.
constexpr ConnId waker_mark = 0;

// Of HTTP all may come, because those that ask for nothing give way.
std::string queue_share_of(const AcceptedSocket& socket) {
  return socket.role == ListenerRole::Queue ? share_of(socket) : std::string();
}

}  // namespace

Connections::Connections(uv_loop_t& loop, TurnClock& clock, const TurnBudget& budget,
                         const ConnectionLimits& limits, std::unique_ptr<SocketBatch> batch,
                         std::unique_ptr<IoThreads> threads, Owner& owner)
    : clock_(clock),
      budget_(budget),
      owner_(owner),
      sockets_(
          loop, [this](std::span<const SocketSet::Report> reports) { on_ready(reports); },
          [this] { return budget_.may_read(); }),
      batch_(std::move(batch)),
      handshakes_(loop, clock, limits.handshakes,
                  {.expired =
                       [this](ConnId id) {
                         end_handshake(id, "the handshake took too long (tls_handshake_ms)");
                       },
                   .is_silent = [this](ConnId id) { return is_silent(id); },
                   .gives_way =
                       [this](ConnId id) {
                         end_handshake(id,
                                       "a newer client has its place (tls_handshakes_pending_max)");
                       }}),
      threads_(std::move(threads)),
      shares_(limits.per_address_max),
      buffer_(TurnBudget::read_bytes_max + Stream::piece_bytes_max) {
  if (batch_) received_.resize(SocketSet::reports_max * TurnBudget::read_later_bytes_max);
  if (threads_ == nullptr) return;
  heard_.resize(threads_->all().size());
  CHECK(sockets_.add(threads_->waker().fd(), waker_mark, {.reading = true}).ok());
  threads_->waker().going_to_sleep();
}

Connections::~Connections() {
  CHECK(connections_.empty());
}

// As it is in the log: of a client behind a proxy what that has said.
std::string Connections::peer_of(const AcceptedSocket& socket) {
  return socket.proxied_peer.empty() ? peer_name(socket.fd) : socket.proxied_peer;
}

Status Connections::refuse(const AcceptedSocket& socket, ClientLine line, std::string_view why) {
  client_log_.log(line, clock_.now(), {{"peer", peer_of(socket)}, {"why", std::string(why)}});
  ::close(socket.fd);
  return {};
}

Status Connections::open(const AcceptedSocket& socket) {
  const std::string share = queue_share_of(socket);
  if (!shares_.has_place(share)) {
    ++without_place_;
    return refuse(socket, ClientLine::NoPlace, over_share);
  }
  const ConnId id = ++last_id_;
  const SocketSet::Interest interest = {.reading = !stopped_};
  Connection conn = {.id = id, .socket = socket, .share = share, .watched_for = interest};
  if (socket.wants_proxy_header) {
    auto stream = std::make_unique<ProxyStream>(socket.fd);
    conn.proxy = stream.get();
    conn.stream = std::move(stream);
  } else {
    conn.stream = owner_.make_stream(socket);
  }
  give_to_thread(conn, interest.reading);
  if (conn.remote == nullptr) {
    if (Status status = sockets_.add(socket.fd, id, interest); !status.ok()) return status;
  }
  Connection& opened = connections_.emplace(id, std::move(conn)).first->second;
  shares_.add(share);
  log_connection("conn.open", opened);
  if (opened.stream->is_open()) {
    begin_session(opened);
  } else {
    handshakes_.begin(id, share_of(socket));
  }
  return {};
}

void Connections::begin_session(Connection& conn) {
  conn.session = &owner_.open_session(conn.id, conn.socket, conn.stream->peer());
}

void Connections::service(ConnId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = found->second;
  if (!conn.full && !write_out(conn)) return;
  watch(conn, conn.session->reading());
  if (conn.full || !conn.session->finished()) return;
  if (const std::string_view speaks = conn.session->speaks(); !speaks.empty()) {
    client_log_.log(ClientLine::WrongProtocol, clock_.now(),
                    {{"conn", fmt::format("{}", id)},
                     {"peer", peer_of(conn.socket)},
                     {"speaks", std::string(speaks)}});
  }
  conn.stream->end();
  close(conn);
}

// Writes without waiting for the socket set: the kernel nearly always takes everything at once.
bool Connections::write_out(Connection& conn) {
  const std::string_view out = conn.session->output().substr(0, write_bytes_max(conn));
  if (out.empty()) return true;
  return on_written(conn, out.size(), conn.stream->write(out));
}

// Returns what write_out() returns.
bool Connections::on_written(Connection& conn, size_t out_bytes, Stream::Outcome written) {
  if (written.state == Stream::State::Failed) {
    close(conn);
    return false;
  }
  set_full(conn, written.bytes < out_bytes);
  if (conn.socket.role == ListenerRole::Queue) queue_bytes_.out += written.bytes;
  if (written.bytes > 0) conn.session->on_written(written.bytes);
  if (conn.full) return true;
  // The next visit asks what the session makes of the progress.
  watch(conn, conn.watched_for.reading);
  return false;
}

void Connections::on_ready(std::span<const SocketSet::Report> reports) {
  clock_.now();  // The turn may begin here.
  if (may_batch() && reports.size() > 1) return receive_together(reports);
  for (const SocketSet::Report& report : reports) on_ready(report);
}

void Connections::on_ready(const SocketSet::Report& report) {
  const auto& [id, can] = report;
  if (id == waker_mark) return on_waker();
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  Connection& conn = found->second;
  if (can.ending && conn.watched_for.ending) on_ending(conn);
  if (can.writing && conn.watched_for.writing) {
    on_writable(conn);
    // The connection may be closed now. Bytes of the client can be read in the next turn.
  } else if (can.reading && conn.watched_for.reading) {
    read(conn);
  }
}

// Sessions that wait for their turn come before the client that is read now.
bool Connections::must_read_later() const {
  return owner_.has_waiting_sessions() || !budget_.may_run_at_once();
}

void Connections::read(Connection& conn) {
  if (conn.session == nullptr && !handshakes_.may_go_on(conn.id, share_of(conn.socket))) {
    return watch(conn, true);  // Not before its turn.
  }
  read_now(conn);
}

void Connections::continue_handshakes() {
  while (const std::optional<ConnId> id = handshakes_.next()) read_now(connections_.at(*id));
}

void Connections::read_now(Connection& conn) {
  const bool later = must_read_later();
  const Stream::Outcome got = conn.stream->read(
      buffer_, later ? TurnBudget::read_later_bytes_max : TurnBudget::read_bytes_max);
  const std::span<char> bytes = std::span(buffer_).first(got.bytes);
  if (conn.session != nullptr) mark_read(conn);  // Also if that was half a record of TLS.
  if (conn.session != nullptr || is_served(conn, got)) on_read(conn, got, bytes, later);
}

void Connections::on_read(Connection& conn, Stream::Outcome got, std::span<char> bytes,
                          bool later) {
  if (conn.socket.role == ListenerRole::Queue) queue_bytes_.in += got.bytes;
  switch (got.state) {
    case Stream::State::Blocked:
      return watch(conn, conn.watched_for.reading);
    case Stream::State::Failed:
      return close(conn);
    case Stream::State::Ended:
      on_last_byte(conn);
      break;
    case Stream::State::Done:
      mark_read(conn);
      conn.session->on_bytes(bytes, clock_.now(), later);
      if (conn.session->may_hear_secret()) common::wipe(bytes);
      if (got.is_last) on_last_byte(conn);
      break;
  }
  // The session may stop the reading here: the turn may bring more bytes of this client.
  watch(conn, conn.session->reading());
  owner_.on_bytes();
}

void Connections::mark_read(Connection& conn) {
  if (!std::exchange(conn.was_read, true)) owner_.on_first_read(conn.id);
}

// What a handshake has come to. Returns whether the client is served from now on.
bool Connections::is_served(Connection& conn, Stream::Outcome got) {
  const bool has_opened = conn.stream->is_open();
  if (has_opened)
    ++(conn.stream->is_resumed() ? handshake_counts_.resumed : handshake_counts_.full);
  if (got.state == Stream::State::Failed || got.state == Stream::State::Ended) {
    // Nothing is said of a client that left without a word, such as a check of its health, or one
    // that left at once behind its handshake.
    if (const std::string why = conn.stream->failure(); !why.empty())
      on_handshake_refused(conn, why);
    close(conn);
    return false;
  }
  if (conn.proxy != nullptr && conn.proxy->header() && !begin_behind_proxy(conn)) return false;
  if (!has_opened) {
    handshakes_.on_progress(conn.id, share_of(conn.socket));
    watch(conn, true);
    owner_.on_slot_free();  // It may give way now.
    return false;
  }
  handshakes_.end(conn.id);
  log(Level::Debug, "conn.handshake",
      {{"conn", fmt::format("{}", conn.id)}, {"stream", conn.stream->description()}});
  begin_session(conn);
  watch(conn, true);  // It was not, while it waited for its turn.
  owner_.on_slot_free();
  return true;
}

// The client has the stream that it would have had without a proxy. Bytes behind the header are
// still in the socket. Returns false if the connection is closed, or has a session already.
bool Connections::begin_behind_proxy(Connection& conn) {
  const ProxyHeader header = *conn.proxy->header();
  conn.socket.wants_proxy_header = false;
  if (header.address) {
    conn.socket.address = header.address;
    conn.socket.proxied_peer = header.peer;
  }
  // Somebody whom the proxy does not name may be anywhere.
  if (!header.is_own) conn.socket.is_local = conn.socket.is_unix = false;
  conn.stream->release();
  conn.proxy = nullptr;
  conn.stream = owner_.make_stream(conn.socket);
  conn.share = queue_share_of(conn.socket);
  if (const bool has_place = shares_.has_place(conn.share); !has_place) {
    conn.share.clear();
    ++without_place_;
    client_log_.log(ClientLine::NoPlace, clock_.now(),
                    {{"peer", peer_of(conn.socket)}, {"why", std::string(over_share)}});
    close(conn);
    return false;
  }
  shares_.add(conn.share);
  give_to_thread(conn, true);
  if (conn.remote != nullptr) sockets_.remove(conn.socket.fd);
  if (!conn.stream->is_open()) return true;  // Its handshake goes on.
  handshakes_.end(conn.id);
  begin_session(conn);
  watch(conn, conn.session->reading());
  owner_.on_slot_free();
  return false;
}

void Connections::on_last_byte(Connection& conn) {
  conn.ended = true;
  conn.session->on_eof(clock_.now());
}

// The end of a client that is not read: it waits for a job, and has sent more than is read while it
// waits. The wait ends, and its unread commands are run and answered. If the client is gone,
// writing an answer fails and closes the connection. Closing it here would lose commands of a
// client that only closed its sending side.
void Connections::on_ending(Connection& conn) {
  conn.ended = true;
  conn.session->on_half_close(clock_.now());
  watch(conn, conn.watched_for.reading);
}

void Connections::on_writable(Connection& conn) {
  if (conn.stream->flush().state == Stream::State::Failed) return close(conn);
  if (conn.session == nullptr) return watch(conn, true);
  set_full(conn, false);
  service(conn.id);
}

bool Connections::is_silent(ConnId id) const {
  const Connection& conn = connections_.at(id);
  if (conn.remote != nullptr && conn.remote->has_unheard_handshake()) return false;
  int unread = 0;
  const int fd = conn.socket.fd;
  return ::ioctl(fd, FIONREAD, &unread) == 0 && unread == 0;
}

bool Connections::is_unread(ConnId id) const {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.was_read) return false;
  const Connection& conn = found->second;
  return (conn.remote != nullptr && conn.remote->is_read()) || !is_silent(id);
}

bool Connections::takes_output(ConnId id) const {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.session == nullptr) return false;
  return !found->second.full && !found->second.session->output().empty();
}

void Connections::end_handshake(ConnId id, const std::string& why) {
  const auto found = connections_.find(id);
  if (found == connections_.end() || found->second.session != nullptr) return;
  on_handshake_refused(found->second, why);
  close(found->second);
}

void Connections::on_handshake_refused(const Connection& conn, const std::string& why) {
  ++handshake_counts_.failed;
  client_log_.log(
      ClientLine::HandshakeRefused, clock_.now(),
      {{"conn", fmt::format("{}", conn.id)}, {"peer", peer_of(conn.socket)}, {"why", why}});
}

void Connections::set_full(Connection& conn, bool full) {
  if (full && !conn.full) ++full_count_;
  if (!full && conn.full) --full_count_;
  conn.full = full;
}

void Connections::watch(Connection& conn, bool reading) {
  // One that waits for its turn is known to have sent something.
  const bool waits = conn.session == nullptr && handshakes_.waits(conn.id);
  const bool reads = reading && !stopped_ && !waits;
  const SocketSet::Interest interest = {.reading = reads,
                                        .writing = conn.full || conn.stream->has_unsent(),
                                        .ending = !reads && !stopped_ && !waits && !conn.ended};
  if (interest == conn.watched_for) return;
  conn.watched_for = interest;
  if (conn.remote != nullptr) return conn.remote->watch(interest);
  sockets_.change(conn.stream->fd(), conn.id, interest);
}

std::string Connections::peer_of(ConnId id) const {
  const auto found = connections_.find(id);
  return found == connections_.end() ? std::string() : peer_of(found->second.socket);
}

void Connections::end_output(ConnId id) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) ::shutdown(found->second.stream->fd(), SHUT_WR);
}

void Connections::begin_anew(ConnId id, std::string_view early, bool ended) {
  const auto found = connections_.find(id);
  CHECK(found != connections_.end());
  Connection& conn = found->second;
  conn.session = nullptr;
  conn.was_read = false;
  const int fd = conn.stream->release();
  conn.stream = owner_.make_stream(conn.socket);
  CHECK(conn.stream->fd() == fd);
  if (conn.stream->is_open()) {
    begin_session(conn);
    if (!early.empty()) conn.session->on_bytes(early, clock_.now());
    if (ended) conn.session->on_eof(clock_.now());
    conn.ended = ended;
    return watch(conn, conn.session->reading());
  }
  handshakes_.begin(id, share_of(conn.socket));
  // Nothing says to a stream what was read before it was there.
  if (!early.empty() || ended) return close(conn);
  watch(conn, true);
}

void Connections::close_revoked() {
  std::vector<ConnId> revoked;
  for (const auto& [id, conn] : connections_) {
    if (conn.session != nullptr && conn.stream->is_revoked()) revoked.push_back(id);
  }
  std::ranges::sort(revoked);
  for (const ConnId id : revoked) {
    Connection& conn = connections_.at(id);
    log(Level::Info, "conn.revoked",
        {{"conn", fmt::format("{}", id)}, {"peer", peer_of(conn.socket)}});
    close(conn);
  }
}

void Connections::leave_share(ConnId id) {
  const auto found = connections_.find(id);
  if (found != connections_.end()) shares_.remove(std::exchange(found->second.share, {}));
}

void Connections::stop_reading() {
  stopped_ = true;
  std::vector<ConnId> unfinished;
  for (auto& [id, conn] : connections_) {
    if (conn.session == nullptr) unfinished.push_back(id);
    watch(conn, false);
  }
  for (const ConnId id : unfinished) close(connections_.at(id));
}

void Connections::close(Connection& conn) {
  const ConnId id = conn.id;
  if (conn.session == nullptr) {
    handshakes_.end(id);
  } else {
    conn.session->on_close(clock_.now());
  }
  set_full(conn, false);
  shares_.remove(conn.share);
  log_connection("conn.close", conn);
  if (conn.remote != nullptr) ++leaving_;
  connections_.erase(id);
  owner_.on_slot_free();
}

// Every client causes such a line, so its address becomes a text only where somebody reads it.
void Connections::log_connection(std::string_view at, const Connection& conn) {
  if (!is_logged(Level::Debug)) return;
  log(Level::Debug, at, {{"conn", fmt::format("{}", conn.id)}, {"peer", peer_of(conn.socket)}});
}

void Connections::close_all() {
  connections_.clear();
  if (threads_ != nullptr) threads_->stop();
  handshakes_.close();
  sockets_.close();
}

}  // namespace perennial::perenniald
