#include "cmd/common/private_file.h"

#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

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

}  // namespace

Status check_private(const struct stat& facts, const std::string& path) {
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  if ((facts.st_mode & (S_IWGRP | S_IRWXO)) == 0 && is_credential(path)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{}: others than its owner have access to it (mode {:04o}): chmod 0600 it",
                      path, facts.st_mode & 07777)};
}

Status check_private(const std::string& path) {
  struct stat facts {};
  if (path.empty() || ::stat(path.c_str(), &facts) != 0) return {};
  return check_private(facts, path);
}

}  // namespace perennial::common
