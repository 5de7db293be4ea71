#include "cmd/perenniald/standby/dialer.h"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cmd/common/address.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr uint64_t try_ms_max = 2'000;

// Another node that does not answer ends the connection after about this time.
constexpr int silence_s_max = 20;

// As the sockets of clients are set. Failing is no reason to do without the connection.
void set_options(int fd) {
  const auto set = [fd](int level, int option, int value) {
    static_cast<void>(setsockopt(fd, level, option, &value, sizeof value));
  };
  set(IPPROTO_TCP, TCP_NODELAY, 1);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, silence_s_max / 2);
  set(IPPROTO_TCP, TCP_KEEPINTVL, silence_s_max / 8);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, silence_s_max * 1000);
}

}  // namespace

// One call of dial(). It lives until its handles are closed.
struct Dialer::Call {
  Call(Dialer& owner, Done then) : dialer(owner), done(std::move(then)) {
    CHECK(uv_timer_init(&dialer.loop_, &timer) == 0);
    lookup.data = request.data = socket.data = timer.data = this;
    dialer.calls_.insert(this);
  }

  void begin(const common::Address& address) {
    const addrinfo hints = {.ai_flags = AI_ADDRCONFIG,
                            .ai_family = AF_UNSPEC,
                            .ai_socktype = SOCK_STREAM,
                            .ai_protocol = 0,
                            .ai_addrlen = 0,
                            .ai_addr = nullptr,
                            .ai_canonname = nullptr,
                            .ai_next = nullptr};
    const auto looked_up = [](uv_getaddrinfo_t* handle, int status, addrinfo* list) {
      Call& call = *static_cast<Call*>(handle->data);
      call.found = status == 0 ? list : nullptr;
      call.next = call.found;
      call.try_next();
    };
    const std::string port = std::to_string(address.port);
    if (uv_getaddrinfo(&dialer.loop_, &lookup, looked_up, address.host.c_str(), port.c_str(),
                       &hints) != 0) {
      fail_later();
    }
  }

  // Nothing was begun that would call back.
  void fail_later() {
    const auto fired = [](uv_timer_t* handle) { static_cast<Call*>(handle->data)->finish(-1); };
    CHECK(uv_timer_start(&timer, fired, 0, 0) == 0);
  }

  void try_next() {
    if (next == nullptr || dialer.closed_) return finish(-1);
    const addrinfo& address = *std::exchange(next, next->ai_next);
    CHECK(uv_tcp_init(&dialer.loop_, &socket) == 0);
    has_socket = true;
    const auto connected = [](uv_connect_t* handle, int status) {
      static_cast<Call*>(handle->data)->on_connected(status);
    };
    const int begun = uv_tcp_connect(&request, &socket, address.ai_addr, connected);
    if (begun != 0) {
      error = -begun;
      return close_socket();
    }
    const auto fired = [](uv_timer_t* handle) {
      Call& call = *static_cast<Call*>(handle->data);
      call.error = ETIMEDOUT;
      call.close_socket();
    };
    CHECK(uv_timer_start(&timer, fired, try_ms_max, 0) == 0);
  }

  void on_connected(int status) {
    uv_timer_stop(&timer);
    if (status == UV_ECANCELED) return;  // close_socket() goes on.
    if (status == 0) {
      // libuv's own handle cannot give its socket away.
      uv_os_fd_t fd = -1;
      CHECK(uv_fileno(reinterpret_cast<uv_handle_t*>(&socket), &fd) == 0);
      kept = fcntl(fd, F_DUPFD_CLOEXEC, 0);
      error = kept < 0 ? errno : 0;
    } else {
      error = -status;
    }
    close_socket();
  }

  void close_socket() {
    if (!std::exchange(has_socket, false)) return;
    uv_close(reinterpret_cast<uv_handle_t*>(&socket), [](uv_handle_t* handle) {
      Call& call = *static_cast<Call*>(handle->data);
      if (call.kept >= 0) return call.finish(call.kept);
      call.try_next();
    });
  }

  void finish(int fd) {
    uv_timer_stop(&timer);
    if (dialer.closed_) {
      if (fd >= 0) ::close(fd);
    } else {
      if (fd >= 0) set_options(fd);
      done(fd, error);
    }
    uv_close(reinterpret_cast<uv_handle_t*>(&timer), [](uv_handle_t* handle) {
      const Call* const call = static_cast<Call*>(handle->data);
      call->dialer.calls_.erase(const_cast<Call*>(call));
      if (call->found != nullptr) uv_freeaddrinfo(call->found);
      delete call;
    });
  }

  Dialer& dialer;
  const Done done;
  uv_getaddrinfo_t lookup = {};
  uv_connect_t request = {};
  uv_tcp_t socket = {};
  uv_timer_t timer = {};
  bool has_socket = false;
  addrinfo* found = nullptr;
  const addrinfo* next = nullptr;
  int kept = -1;
  int error = EHOSTUNREACH;  // Of the last address that was tried.
};

Dialer::~Dialer() {
  CHECK(calls_.empty());
}

void Dialer::dial(const std::string& address, Done done) {
  CHECK(!closed_);
  auto* const call = new Call(*this, std::move(done));
  const Result<common::Address> parsed = common::parse_address(address, common::default_port);
  if (!parsed.ok() || parsed->kind != common::Address::Kind::Internet) return call->fail_later();
  call->begin(*parsed);
}

void Dialer::close() {
  closed_ = true;
  for (Call* const call : calls_) {
    uv_cancel(reinterpret_cast<uv_req_t*>(&call->lookup));
    call->close_socket();
  }
}

}  // namespace perennial::perenniald
