#include "tests/overload/crowd.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

namespace perennial::overload {
namespace {

// How long the server may make no progress before the crowd fails, or concludes that the server
// reads no more.
constexpr int patience_ms = 60'000;
constexpr int quiet_ms = 300;

Status failed(const char* what) {
  return {StatusCode::Io, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

Status Crowd::connect(const std::string& address, size_t count, int receive_bytes) {
  for (size_t i = 0; i < count; ++i) {
    Result<support::ClientSocket> socket = support::ClientSocket::connect(address);
    if (!socket.ok()) return socket.take_status();
    if (receive_bytes > 0) {
      setsockopt(socket->fd(), SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
    }
    clients_.emplace_back().socket = socket.take();
  }
  return {};
}

void Crowd::say(size_t client, std::string_view bytes, uint64_t answers) {
  clients_[client].to_send += bytes;
  clients_[client].awaited += answers;
}

Status Crowd::press() {
  for (;;) {
    const Result<bool> moved = turn(false, quiet_ms, {});
    if (!moved.ok()) return moved.status();
    if (!*moved) return {};
  }
}

Status Crowd::finish(const Judge& judge) {
  while (!done()) {
    const Result<bool> moved = turn(true, patience_ms, judge);
    if (!moved.ok()) return moved.status();
    if (!*moved) return {StatusCode::Io, "the server moves nothing any more"};
  }
  return {};
}

bool Crowd::done() const {
  for (const Client& client : clients_) {
    if (client.socket.is_open() && (!client.all_sent() || client.awaited > 0)) return false;
  }
  return true;
}

Result<bool> Crowd::turn(bool reading, int timeout_ms, const Judge& judge) {
  std::vector<pollfd> waiting;
  std::vector<size_t> who;
  for (size_t i = 0; i < clients_.size(); ++i) {
    const Client& client = clients_[i];
    const bool wants_in = reading && client.awaited > 0;
    const int events = (client.all_sent() ? 0 : POLLOUT) | (wants_in ? POLLIN : 0);
    if (!client.socket.is_open() || events == 0) continue;
    waiting.push_back(
        {.fd = client.socket.fd(), .events = static_cast<short>(events), .revents = 0});
    who.push_back(i);
  }
  if (waiting.empty()) return false;
  if (poll(waiting.data(), waiting.size(), timeout_ms) < 0) return failed("poll");
  bool moved = false;
  for (size_t i = 0; i < waiting.size(); ++i) {
    if (waiting[i].revents == 0) continue;
    if ((waiting[i].revents & POLLOUT) != 0) {
      const Result<bool> sent = send_some(clients_[who[i]]);
      if (!sent.ok()) return sent.status();
      moved |= *sent;
    }
    if (!reading || (waiting[i].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    const Result<bool> read = read_some(who[i], judge);
    if (!read.ok()) return read.status();
    moved |= *read;
  }
  return moved;
}

Result<bool> Crowd::send_some(Client& client) {
  const ssize_t sent = send(client.socket.fd(), client.to_send.data() + client.sent,
                            client.to_send.size() - client.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0) return errno == EAGAIN ? Result<bool>(false) : Result<bool>(failed("send"));
  client.sent += static_cast<size_t>(sent);
  if (client.all_sent()) {
    client.to_send = {};
    client.sent = 0;
  }
  return true;
}

Result<bool> Crowd::read_some(size_t index, const Judge& judge) {
  Client& client = clients_[index];
  char bytes[64 << 10];
  const ssize_t got = recv(client.socket.fd(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN ? Result<bool>(false) : Result<bool>(failed("recv"));
  if (got == 0) return Status(StatusCode::Io, "the server closed a connection");
  client.received.append(bytes, static_cast<size_t>(got));
  for (;;) {
    const std::string_view rest = std::string_view(client.received).substr(client.judged);
    const size_t end = support::reply_end(rest);
    if (end == 0) break;
    if (client.awaited == 0) return Status(StatusCode::Io, "an answer that nobody asked for");
    --client.awaited;
    client.judged += end;
    if (const std::string wrong = judge(index, rest.substr(0, end)); !wrong.empty()) {
      return Status(StatusCode::Corruption, fmt::format("client {}: {}", index, wrong));
    }
  }
  client.received.erase(0, std::exchange(client.judged, 0));
  return true;
}

}  // namespace perennial::overload
