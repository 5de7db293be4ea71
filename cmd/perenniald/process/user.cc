#include "cmd/perenniald/process/user.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "cmd/common/exit_codes.h"

namespace perennial::perenniald {
namespace {

Failure failure(int exit_code, const std::string& name, const char* what) {
  return {exit_code, "user",
          fmt::format("cannot become user '{}': {}: {}", name, what, std::strerror(errno))};
}

}  // namespace

std::optional<Failure> become_user(const std::string& name) {
  errno = 0;
  const passwd* user = getpwnam(name.c_str());
  if (user == nullptr && errno == 0) {
    return Failure{common::exit_user_unknown, "user", fmt::format("there is no user '{}'", name)};
  }
  if (user == nullptr) return failure(common::exit_user_unknown, name, "getpwnam");
  // The groups come first, because the new user may not change them.
  if (setgid(user->pw_gid) != 0) return failure(common::exit_user_group, name, "setgid");
  // Only root may choose the groups. A process that runs as this user already has them.
  if (geteuid() == 0 && initgroups(name.c_str(), user->pw_gid) != 0) {
    return failure(common::exit_user_group, name, "initgroups");
  }
  if (setuid(user->pw_uid) != 0) return failure(common::exit_user_switch, name, "setuid");
  return std::nullopt;
}

}  // namespace perennial::perenniald
