#pragma once

#include <string>

#include <sys/stat.h>

#include "engine/types/status.h"

namespace perennial::common {

// For a file that holds a secret. InvalidArgument, with the mode and what to do: others than its
// owner have access to it. A group may read it, and no more, if this process is a member of the
// group, and root or the user of this process owns the file. A credential that systemd hands to
// this service is private, although its mode shows a group.
Status check_private(const struct stat& facts, const std::string& path);
// The same for a file by its path. Whoever opens it reports that it does not exist; "" is no file.
Status check_private(const std::string& path);

}  // namespace perennial::common
