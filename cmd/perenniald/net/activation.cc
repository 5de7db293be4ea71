#include "cmd/perenniald/net/activation.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

namespace perennial::perenniald {
namespace {

struct FreeNames {
  void operator()(char** names) const {
    for (char** name = names; *name != nullptr; ++name) free(*name);
    free(names);
  }
};
using Names = std::unique_ptr<char*, FreeNames>;

}  // namespace

Result<std::vector<BoundSocket>> activated_sockets() {
  // The environment variables are removed, so that no child takes the sockets for its own.
  char** names = nullptr;
  const int count = sd_listen_fds_with_names(1, &names);
  const Names owner(names);
  if (count < 0) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("sockets from the service manager: {}", std::strerror(-count)));
  }
  std::vector<BoundSocket> out;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    const bool is_unix = sd_is_socket(fd, AF_UNIX, SOCK_STREAM, -1) > 0;
    const bool is_tcp = sd_is_socket(fd, AF_INET, SOCK_STREAM, -1) > 0 ||
                        sd_is_socket(fd, AF_INET6, SOCK_STREAM, -1) > 0;
    if (!is_unix && !is_tcp) {
      return Status(StatusCode::InvalidArgument,
                    fmt::format("socket {} from the service manager is no stream socket", fd));
    }
    if (Status status = prepare_listener(fd, is_unix); !status.ok()) return status;
    const char* const name = names[fd - SD_LISTEN_FDS_START];
    out.emplace_back(fd, is_unix, std::nullopt, role_of_socket(name));
  }
  return out;
}

}  // namespace perennial::perenniald
