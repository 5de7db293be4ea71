#include "cmd/perennial/work/multiplexer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "cmd/common/tool/requests.h"

namespace perennial::tool::work {

Result<Connected> connect_to_tubes(const Settings& settings) {
  Result<ServerConnection> server = open_server(settings.server);
  if (!server.ok()) return server.take_status();
  for (const std::string& tube : settings.tubes) server->add(Watch{tube});
  const bool wants_default =
      std::find(settings.tubes.begin(), settings.tubes.end(), "default") != settings.tubes.end();
  if (!wants_default) server->add(Ignore{"default"});
  for (size_t left = settings.tubes.size() + (wants_default ? 0 : 1); left > 0; --left) {
    Result<wire::ClientReply> reply = server->receive();
    if (!reply.ok()) return reply.take_status();
    if (!reply->is(Word::Watching)) return failure_of(*reply, "watch");
  }
  const Result<ExtensionSet> allowed = ask_extensions(*server);
  if (!allowed.ok()) return allowed.status();
  return Connected{.server = server.take(), .allowed = *allowed};
}

Status failure_of(const wire::ClientReply& reply, std::string_view doing) {
  Status failure = unexpected(reply, doing);
  if (!reply.is(Word::Unauthorized) && !reply.is(Word::Forbidden)) return failure;
  return {StatusCode::InvalidArgument, failure.message()};
}

Result<std::unique_ptr<Multiplexer>> Multiplexer::make(const Settings& settings) {
  common::Socket wake(::eventfd(0, EFD_CLOEXEC));
  if (wake.fd() < 0) return common::system_error("make an event");
  return std::unique_ptr<Multiplexer>(new Multiplexer(settings, std::move(wake)));
}

Multiplexer::Multiplexer(const Settings& settings, common::Socket wake)
    : settings_(settings), wake_(std::move(wake)), thread_([this] { serve(); }) {}

Multiplexer::~Multiplexer() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  CHECK(::eventfd_write(wake_.fd(), 1) == 0);
  thread_.join();
}

Result<Connected> Multiplexer::connect() {
  const std::lock_guard lock(mutex_);
  if (!has_server_) {
    Result<Connected> connected = connect_to_tubes(settings_);
    if (!connected.ok() || !Exchange::can_use(connected->allowed)) return connected;
    arrived_exchange_.emplace(std::move(connected->server), connected->allowed);
    allowed_ = connected->allowed;
    has_server_ = true;
  }
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return common::system_error("make a pair of sockets");
  arrived_runners_.emplace_back(ends[0]);
  CHECK(::eventfd_write(wake_.fd(), 1) == 0);
  return Connected{
      .server = ServerConnection::over(settings_.server.address, common::Socket(ends[1])),
      .allowed = allowed_};
}

void Multiplexer::serve() {
  std::optional<Exchange> exchange;
  while (take_arrivals(exchange)) {
    if (!exchange) {
      pollfd woken{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
      ::poll(&woken, 1, -1);
    } else if (!exchange->turn(wake_.fd()).ok()) {
      exchange.reset();
      on_lost();
    }
  }
}

bool Multiplexer::take_arrivals(std::optional<Exchange>& exchange) {
  pollfd woken{.fd = wake_.fd(), .events = POLLIN, .revents = 0};
  if (::poll(&woken, 1, 0) <= 0) return true;
  eventfd_t count = 0;
  CHECK(::eventfd_read(wake_.fd(), &count) == 0);
  const std::lock_guard lock(mutex_);
  if (arrived_exchange_) {
    exchange.emplace(std::move(*arrived_exchange_));
    arrived_exchange_.reset();
  }
  for (common::Socket& runner : arrived_runners_) exchange->add_seat(std::move(runner));
  arrived_runners_.clear();
  return !is_ending_;
}

// Each runner finds out why when it connects again.
void Multiplexer::on_lost() {
  const std::lock_guard lock(mutex_);
  has_server_ = false;
  arrived_runners_.clear();
}

}  // namespace perennial::tool::work
