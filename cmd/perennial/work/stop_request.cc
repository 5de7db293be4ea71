#include "cmd/perennial/work/stop_request.h"

#include <poll.h>
#include <sys/eventfd.h>

#include "engine/types/check.h"

namespace perennial::tool::work {

Result<StopRequest> StopRequest::make() {
  common::Socket finish(::eventfd(0, EFD_CLOEXEC));
  common::Socket kill(::eventfd(0, EFD_CLOEXEC));
  if (finish.fd() < 0 || kill.fd() < 0) return common::system_error("make an event");
  return StopRequest(std::move(finish), std::move(kill));
}

bool StopRequest::finishing() const {
  pollfd waiting{.fd = finish_.fd(), .events = POLLIN, .revents = 0};
  return ::poll(&waiting, 1, 0) > 0;
}

void StopRequest::raise(const common::Socket& event) {
  CHECK(::eventfd_write(event.fd(), 1) == 0);
}

}  // namespace perennial::tool::work
