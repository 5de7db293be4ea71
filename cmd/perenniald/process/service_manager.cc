#include "cmd/perenniald/process/service_manager.h"

#include <cstdlib>

#include <fmt/format.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

namespace perennial::perenniald {

void notify_manager(const std::string& state) {
  sd_notify(0, state.c_str());
}

bool has_manager() {
  return std::getenv("NOTIFY_SOCKET") != nullptr;
}

bool is_journal(int fd) {
  const char* const stream = std::getenv("JOURNAL_STREAM");
  struct stat found {};
  // A program that the service starts has the variable, too, and perhaps another file.
  return stream != nullptr && ::fstat(fd, &found) == 0 &&
         stream == fmt::format("{}:{}", found.st_dev, found.st_ino);
}

}  // namespace perennial::perenniald
