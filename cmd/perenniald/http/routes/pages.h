#pragma once

#include <optional>

#include "cmd/perenniald/http/message.h"

// The console's files. Its paths are real ones, so every path that is nothing else shows its page.
namespace perennial::http {

// None: it is no request for a file or a page, or the program has no console.
std::optional<Response> page_of(const Request& request);

}  // namespace perennial::http
