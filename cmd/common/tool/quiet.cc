#include "cmd/common/tool/quiet.h"

#include <fcntl.h>
#include <unistd.h>

#include "cmd/common/socket.h"

namespace perennial::tool {
namespace {

bool asked_for = false;

}  // namespace

bool is_quiet() {
  return asked_for;
}

std::vector<Flag> all_flags(const Subcommand& command) {
  std::vector<Flag> flags = command.flags;
  flags.push_back({"-q,--quiet", "", "Print nothing but errors", &asked_for});
  return flags;
}

Status keep_quiet() {
  if (!asked_for) return {};
  const common::Socket nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere.fd() < 0 || ::dup2(nowhere.fd(), STDOUT_FILENO) < 0)
    return common::system_error("--quiet: open /dev/null");
  return {};
}

}  // namespace perennial::tool
