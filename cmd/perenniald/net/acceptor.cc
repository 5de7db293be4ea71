#include "cmd/perenniald/net/acceptor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/socket.h>

#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// How soon accept is tried again when the machine is out of descriptors or memory. A timer is
// needed, because none of our own clients may ever leave.
constexpr uint64_t retry_ms = 100;

bool is_out_of_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

Acceptor::Acceptor(uv_loop_t& loop, std::vector<BoundSocket> sockets, const TurnBudget& budget,
                   Hooks hooks)
    : sockets_(std::move(sockets)),
      budget_(budget),
      hooks_(std::move(hooks)),
      listeners_(
          loop,
          [this](std::span<const SocketSet::Report> reports) {
            for (const SocketSet::Report& report : reports) take_clients(report.conn);
          },
          [] { return false; }),
      retry_(new uv_timer_t),
      listens_(sockets_.size(), false),
      paused_(sockets_.size(), false) {
  CHECK(uv_timer_init(&loop, retry_) == 0);
  retry_->data = this;
}

Acceptor::~Acceptor() {
  close();
}

Status Acceptor::listen(const Choice& is_chosen, std::vector<std::string>& names) {
  std::vector<size_t> chosen;
  for (size_t i = 0; i < sockets_.size(); ++i) {
    if (!listens_[i] && is_chosen(sockets_[i])) chosen.push_back(i);
  }
  for (const size_t i : chosen) {
    if (Status status = sockets_[i].listen(); !status.ok()) return status;
  }
  for (const size_t i : chosen) {
    const BoundSocket& socket = sockets_[i];
    if (Status status = listeners_.add(socket.fd(), i, {.reading = true}); !status.ok()) {
      return std::move(status).with("cannot listen on " + socket.name());
    }
    listens_[i] = true;
    names.push_back(socket.name());
  }
  return {};
}

void Acceptor::take_clients(size_t index) {
  if (!listens_[index]) return;  // It was closed in this turn.
  const BoundSocket& listener = sockets_[index];
  for (size_t accepted = 0; budget_.may_accept(accepted) && !paused_[index]; ++accepted) {
    if (!hooks_.has_slot(listener)) return watch(index, false);
    sockaddr_storage client{};
    socklen_t length = sizeof client;
    auto* const address = reinterpret_cast<sockaddr*>(&client);
    const int fd = accept4(listener.fd(), address, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      const Status taken_in = hooks_.accepted({.fd = fd,
                                               .is_local = listener.is_unix() || is_local(client),
                                               .is_unix = listener.is_unix(),
                                               .address = ip_of(client),
                                               .role = listener.role(),
                                               .listener = listener.listener()});
      if (!taken_in.ok()) return pause_a_while(taken_in.message());
    } else if (is_out_of_resources(errno)) {
      return pause_a_while(std::strerror(errno));
    } else if (errno == EAGAIN) {
      return;
    }
    // Any other error concerns one client that left before it was accepted: go on with the next.
  }
}

void Acceptor::pause_a_while(const std::string& error) {
  for (size_t i = 0; i < sockets_.size(); ++i) watch(i, false);
  if (!std::exchange(warned_, true)) log(Level::Warning, "accept", {{"error", error}});
  const auto on_retry = [](uv_timer_t* timer) { static_cast<Acceptor*>(timer->data)->resume(); };
  CHECK(uv_timer_start(retry_, on_retry, retry_ms, 0) == 0);
}

void Acceptor::on_slot_free() {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    if (paused_[i] && hooks_.has_slot(sockets_[i])) watch(i, true);
  }
}

void Acceptor::resume() {
  for (size_t i = 0; i < sockets_.size(); ++i) watch(i, true);
}

void Acceptor::watch(size_t index, bool reading) {
  if (!listens_[index] || paused_[index] != reading) return;
  paused_[index] = !reading;
  listeners_.change(sockets_[index].fd(), index, {.reading = reading});
}

void Acceptor::close(const Choice& is_chosen) {
  for (size_t i = 0; i < sockets_.size(); ++i) {
    if (!is_chosen(sockets_[i])) continue;
    listens_[i] = false;
    sockets_[i].close();  // So it leaves the set.
  }
}

void Acceptor::close() {
  if (retry_ == nullptr) return;
  const auto free_timer = [](uv_handle_t* timer) { delete reinterpret_cast<uv_timer_t*>(timer); };
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(retry_, nullptr)), free_timer);
  listeners_.close();
  sockets_.clear();
}

bool Acceptor::has_role(ListenerRole role) const {
  return std::ranges::any_of(sockets_,
                             [&](const BoundSocket& each) { return each.role() == role; });
}

}  // namespace perennial::perenniald
