#include "cmd/perenniald/acceptor.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "cmd/perenniald/log.h"
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
    : loop_(loop), sockets_(std::move(sockets)), hooks_(std::move(hooks)), retry_(new uv_timer_t) {
  CHECK(uv_timer_init(&loop_, retry_) == 0);
  retry_->data = this;
}

Acceptor::~Acceptor() {
  close();
}

Status Acceptor::listen() {
  for (BoundSocket& socket : sockets_) {
    if (Status status = socket.listen(); !status.ok()) return status;
  }
  for (const BoundSocket& socket : sockets_) {
    auto* const door = new Door{{}, this, socket.fd(), socket.is_unix()};
    CHECK(uv_poll_init(&loop_, &door->poll, socket.fd()) == 0);
    door->poll.data = door;
    doors_.push_back(door);
  }
  paused_ = true;
  resume();
  return {};
}

void Acceptor::on_client(uv_poll_t* poll, int /*status*/, int /*events*/) {
  const auto& door = *static_cast<const Door*>(poll->data);
  door.owner->take_clients(door);
}

void Acceptor::take_clients(const Door& door) {
  for (int taken = 0; taken < clients_per_turn; ++taken) {
    if (!hooks_.has_room()) return pause();
    sockaddr_storage client{};
    socklen_t length = sizeof client;
    auto* const address = reinterpret_cast<sockaddr*>(&client);
    const int fd = accept4(door.fd, address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      hooks_.accepted({fd, door.is_unix, door.is_unix || is_local(client)});
    } else if (is_out_of_resources(errno)) {
      return pause_a_while(errno);
    } else if (errno == EAGAIN) {
      return;
    }
    // Anything else is the end of one client that left before it came in: the next one, please.
  }
}

void Acceptor::pause() {
  if (std::exchange(paused_, true)) return;
  for (Door* door : doors_) uv_poll_stop(&door->poll);
}

void Acceptor::pause_a_while(int error) {
  pause();
  if (!std::exchange(warned_, true)) {
    log(Level::Warning, "accept", {{"error", std::strerror(error)}});
  }
  const auto on_retry = [](uv_timer_t* timer) { static_cast<Acceptor*>(timer->data)->resume(); };
  CHECK(uv_timer_start(retry_, on_retry, retry_ms, 0) == 0);
}

void Acceptor::on_room() {
  if (paused_ && hooks_.has_room()) resume();
}

void Acceptor::resume() {
  if (!std::exchange(paused_, false)) return;
  for (Door* door : doors_) CHECK(uv_poll_start(&door->poll, UV_READABLE, on_client) == 0);
}

void Acceptor::close() {
  if (retry_ == nullptr) return;
  const auto free_timer = [](uv_handle_t* timer) { delete reinterpret_cast<uv_timer_t*>(timer); };
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(retry_, nullptr)), free_timer);
  const auto free_door = [](uv_handle_t* poll) { delete static_cast<Door*>(poll->data); };
  for (Door* door : doors_) uv_close(reinterpret_cast<uv_handle_t*>(&door->poll), free_door);
  doors_.clear();
  sockets_.clear();
}

std::vector<std::string> Acceptor::names() const {
  std::vector<std::string> names;
  for (const BoundSocket& socket : sockets_) names.push_back(socket.name());
  return names;
}

}  // namespace perennial::perenniald
