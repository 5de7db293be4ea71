#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/config/flags.h"
#include "cmd/perenniald/net/activation.h"
#include "cmd/perenniald/process/descriptors.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/process/process.h"
#include "cmd/perenniald/process/user.h"
#include "cmd/perenniald/server/server.h"

namespace perennial::perenniald {
namespace {

Result<std::vector<BoundSocket>> open_sockets(const Config& config) {
  Result<std::vector<BoundSocket>> passed = activated_sockets();
  if (!passed.ok()) return passed;
  if (passed->empty()) {
    std::vector<common::Address> addresses;
    for (const std::string& text : config.listen) {
      Result<common::Address> address = common::parse_address(text, config.port);
      if (!address.ok()) return address.take_status();
      addresses.push_back(address.take());
    }
    return bind_sockets(addresses, config.port);
  }
  if (!config.listen.empty() || config.port != common::default_port) {
    log(Level::Info, "listen",
        {{"ignored", "listen and port: the service manager passed sockets"}});
  }
  return passed;
}

// Bind, drop the user, open, recover, listen: what needs rights comes first, and nobody is let in
// before everything is there.
int serve(const Config& config) {
  Result<std::vector<BoundSocket>> sockets = open_sockets(config);
  if (!sockets.ok()) {
    return report({common::exit_address, "listen", sockets.status().message()});
  }
  if (!config.user.empty()) {
    if (const std::optional<Failure> failure = become_user(config.user)) return report(*failure);
  }
  const Vanishing vanishing = {.keepalive_s = config.tcp_keepalive_s,
                               .user_timeout_s = config.tcp_user_timeout_s};
  if (Status set = set_vanishing(*sockets, vanishing); !set.ok()) {
    return report({common::exit_address, "listen", set.message()});
  }
  settle_core_dumps(config.core_dumps);
  const uint64_t descriptors = raise_descriptors();
  const std::optional<Descriptors> shares =
      share_descriptors(descriptors, sockets->size(), config.connections_max);
  if (!shares) {
    return report(
        {common::exit_usage, "start",
         fmt::format("the limit of file descriptors (RLIMIT_NOFILE, ulimit -n) is {}, and "
                     "must be at least {}",
                     descriptors, descriptors_min(sockets->size()))});
  }
  Server server(config, sockets.take(), *shares);
  return server.run();
}

int run(int argc, char** argv) {
  const Invocation invocation = parse_command_line(argc, argv);
  std::fputs(invocation.out.c_str(), stdout);
  std::fputs(invocation.err.c_str(), stderr);
  if (invocation.action == Invocation::Action::Exit) return invocation.exit_code;
  set_log_verbosity(invocation.config.verbosity);
  for (const std::string& warning : invocation.warnings) {
    log(Level::Warning, "flags", {{"warning", warning}});
  }
  std::signal(SIGPIPE, SIG_IGN);  // A client that has gone shows as an error of the write.
  return serve(invocation.config);
}

}  // namespace
}  // namespace perennial::perenniald

int main(int argc, char** argv) {
  return perennial::perenniald::run(argc, argv);
}
