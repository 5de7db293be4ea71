#include <memory>
#include <string>
#include <vector>

#include <unistd.h>

#include "cmd/common/tool/program_beside.h"
#include "cmd/perennial/users/commands.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

struct UsersCheckOptions {
  std::string config = "/etc/perennial/perennial.yaml";
  bool json = false;
};

// perennial users check: who gets in where, as whom, and may do what. The server knows that, so
// perenniald prints it.
Status users_check(const UsersCheckOptions& options) {
  std::vector<std::string> arguments = {"--config", options.config, "--print-access"};
  if (options.json) arguments.emplace_back("--json");
  const Result<int> exit_status =
      wait_for_program_beside("perenniald", arguments, STDIN_FILENO, STDOUT_FILENO);
  if (!exit_status.ok()) return exit_status.status();
  if (*exit_status == 0) return {};
  return {StatusCode::Corruption, "a server would not start with this configuration"};
}

}  // namespace

Subcommand users_check_command() {
  const auto options = std::make_shared<UsersCheckOptions>();
  return {
      .name = "users check",
      .summary = "Show who gets in where, as whom, and may do what",
      .about =
          "Reads a configuration as the server would, with its users, their file and the "
          "certificates, and shows each listener with the ways to prove who one is, each user with "
          "what it may do, and remarks on what is hardly meant, such as a user whom no listener "
          "lets in. Run it as the server's user before a reload. It starts nothing.",
      .examples = "  perennial users check --config /etc/perennial/perennial.yaml\n",
      .flags =
          {
              {"-c,--config", "FILE", "The configuration of the server", &options->config},
              {"--json", "", "Report as JSON", &options->json},
          },
      .run = [options] { return users_check(*options); },
  };
}

}  // namespace perennial::tool
