#include "cmd/perenniald/net/acceptor.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// So that a crowd at the door does not keep those inside waiting.
constexpr int clients_per_turn = 64;
// When the whole machine is out of descriptors or memory, none of our clients may ever leave.
constexpr uint64_t retry_ms = 100;

bool is_out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(uv_loop_t& loop, std::vector<BoundSocket> sockets, Hooks hooks)
    : sockets_(std::move(sockets)),
      hooks_(std::move(hooks)),
      doors_(
          loop, [this](ConnId door, SocketSet::Interest) { take_clients(sockets_[door]); },
          [] { return false; }),
      retry_(new uv_timer_t) {
  CHECK(uv_timer_init(&loop, retry_) == 0);
  retry_->data = this;
}

Acceptor::~Acceptor() {
  close();
}

Status Acceptor::listen() {
  for (BoundSocket& socket : sockets_) {
    if (Status status = socket.listen(); !status.ok()) return status;
  }
  for (size_t i = 0; i < sockets_.size(); ++i) {
    const BoundSocket& socket = sockets_[i];
    if (Status status = doors_.add(socket.fd(), i, {.reading = true}); !status.ok()) {
      return std::move(status).with("cannot listen on " + socket.name());
    }
  }
  return {};
}

void Acceptor::take_clients(const BoundSocket& door) {
  for (int taken = 0; taken < clients_per_turn && !paused_; ++taken) {
    if (!hooks_.has_room()) return pause();
    sockaddr_storage client{};
    socklen_t length = sizeof client;
    auto* const address = reinterpret_cast<sockaddr*>(&client);
    const int fd = accept4(door.fd(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const Status taken_in = hooks_.accepted(
          {.fd = fd, .is_local = door.is_unix() || is_local(client), .role = door.role()});
      if (!taken_in.ok()) return pause_a_while(taken_in.message());
    } else if (is_out_of_resources(errno)) {
      return pause_a_while(std::strerror(errno));
    } else if (errno == EAGAIN) {
      return;
    }
    // Anything else is the end of one client that left before it came in: the next one, please.
  }
}

void Acceptor::pause() {
  if (!std::exchange(paused_, true)) watch(false);
}

void Acceptor::pause_a_while(const std::string& error) {
  pause();
  if (!std::exchange(warned_, true)) log(Level::Warning, "accept", {{"error", error}});
  const auto on_retry = [](uv_timer_t* timer) { static_cast<Acceptor*>(timer->data)->resume(); };
  CHECK(uv_timer_start(retry_, on_retry, retry_ms, 0) == 0);
}

void Acceptor::on_room() {
  if (paused_ && hooks_.has_room()) resume();
}

void Acceptor::resume() {
  if (std::exchange(paused_, false)) watch(true);
}

void Acceptor::watch(bool reading) {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    doors_.change(sockets_[i].fd(), i, {.reading = reading});
  }
}

void Acceptor::close() {
  if (retry_ == nullptr) return;
  const auto free_timer = [](uv_handle_t* timer) { delete reinterpret_cast<uv_timer_t*>(timer); };
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(retry_, nullptr)), free_timer);
  doors_.close();
  sockets_.clear();
}

std::vector<std::string> Acceptor::names() const {
  std::vector<std::string> names;
  for (const BoundSocket& socket : sockets_) names.push_back(socket.name());
  return names;
}

}  // namespace perennial::perenniald
