#include "cmd/common/private_file.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

namespace perennial::common {
namespace {

// systemd.exec(5), LoadCredential=: the folder is the service's own. The group that a file shows
// there is the mask of its access list, by which the service's user, and nobody else, may read it.
bool is_credential(std::string_view path) {
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || *folder != '/' || !path.starts_with(folder)) return false;
  const std::string_view name = path.substr(std::string_view(folder).size());
  return name.starts_with('/') && name.find('/', 1) == std::string_view::npos;
}

bool is_own_group(gid_t group) {
  if (group == ::getegid()) return true;
  std::vector<gid_t> groups(static_cast<size_t>(std::max(::getgroups(0, nullptr), 0)));
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  groups.resize(static_cast<size_t>(std::max(count, 0)));
  return std::ranges::find(groups, group) != groups.end();
}

// So Kubernetes mounts a secret for a process that is not root's: root's, and open to fsGroup.
bool is_for_own_group(const struct stat& facts) {
  const bool only_reads = (facts.st_mode & (S_IWGRP | S_IXGRP | S_IRWXO)) == 0;
  const bool is_trusted = facts.st_uid == 0 || facts.st_uid == ::geteuid();
  return only_reads && is_trusted && is_own_group(facts.st_gid);
}

}  // namespace

Status check_private(const struct stat& facts, const std::string& path) {
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) == 0 || is_for_own_group(facts)) return {};
  if ((facts.st_mode & (S_IWGRP | S_IRWXO)) == 0 && is_credential(path)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{}: others than its owner have access to it (mode {:04o}): chmod 0600 it, "
                      "or 0440 if it is "
                      "root's or this user's, and of a group of this process",
                      path, facts.st_mode & 07777)};
}

Status check_private(const std::string& path) {
  struct stat facts {};
  if (path.empty() || ::stat(path.c_str(), &facts) != 0) return {};
  return check_private(facts, path);
}

}  // namespace perennial::common
