#include "cmd/perenniald/process/service_manager.h"

#include <cstdlib>

#include <systemd/sd-daemon.h>

namespace perennial::perenniald {

void notify_manager(const std::string& state) {
  sd_notify(0, state.c_str());
}

bool has_manager() {
  return std::getenv("NOTIFY_SOCKET") != nullptr;
}

}  // namespace perennial::perenniald
