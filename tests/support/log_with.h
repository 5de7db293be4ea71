#pragma once

#include <string>

#include <unistd.h>

namespace perennial::support {

// The log of a server that runs, as soon as it has `text`, which a thread of the server may write
// after the answer. After ten seconds the log as it is.
template <typename Server>
std::string log_with(const Server& server, const std::string& text) {
  std::string log = server.stderr_text();
  for (int tries = 0; tries < 1'000 && log.find(text) == std::string::npos; ++tries) {
    usleep(10'000);
    log = server.stderr_text();
  }
  return log;
}

}  // namespace perennial::support
