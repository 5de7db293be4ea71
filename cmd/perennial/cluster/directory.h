#pragma once

#include <memory>
#include <string>

#include "engine/types/status.h"
#include "store/store.h"

namespace perennial::tool {

// Opens a data directory that is there and that no server uses, as a start does.
// NotFound: it is not there. Locked: a server uses it.
Result<std::unique_ptr<store::Store>> open_directory(const std::string& path);

}  // namespace perennial::tool
