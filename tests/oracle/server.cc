#include "tests/oracle/server.h"

#include <fstream>
#include <string>

namespace perennial::oracle {

Result<std::unique_ptr<Server>> start_server(support::Program program, uint32_t job_bytes_max,
                                             Beyond beyond) {
  auto server = std::make_unique<Server>(
      support::ServerSetup{.program = program,
                           .flags = {"-z", std::to_string(job_bytes_max)},
                           .data_dir = program == support::Program::Perenniald});
  if (program == support::Program::Perenniald && beyond == Beyond::Nothing) {
    const std::string path = server->dir() + "/config";
    std::ofstream(path) << "extensions: none\n";
    server->setup().flags.insert(server->setup().flags.end(), {"--config", path});
  }
  if (Status started = server->start(); !started.ok()) {
    return std::move(started).with("start " + support::program_path(program));
  }
  return server;
}

uint16_t port_of(const Server& server) {
  const std::string& address = server.address();
  return static_cast<uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

}  // namespace perennial::oracle
