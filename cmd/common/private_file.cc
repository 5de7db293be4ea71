#include "cmd/common/private_file.h"

#include <fmt/format.h>

namespace perennial::common {

Status check_private(const struct stat& facts, const std::string& path) {
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{}: others than its owner have access to it (mode {:04o}): chmod 0600 it",
                      path, facts.st_mode & 07777)};
}

}  // namespace perennial::common
