#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/tubes/commands.h"

namespace perennial::tool {
namespace {

struct PauseOptions {
  ServerAddress server = {};
  std::string tube;
  std::chrono::seconds time{0};  // 0 ends a pause.
  bool json = false;
};

// perennial pause: for a time no job of the tube can be reserved.
Status pause(const PauseOptions& options) {
  if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  const auto seconds = static_cast<uint32_t>(options.time.count());
  const Result<wire::ClientReply> reply = server->ask(PauseTube{options.tube, seconds});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound)) return no_tube(*server, options.tube);
  if (!reply->is(Word::Paused)) return unexpected(*reply, "pause-tube");
  if (options.json) {
    print_result({{"tube", options.tube}, {"pause_seconds", seconds}});
  } else if (seconds == 0) {
    fmt::print("{}: not paused\n", options.tube);
  } else {
    fmt::print("{}: paused for {}\n", options.tube, duration_text(seconds));
  }
  return {};
}

}  // namespace

Subcommand pause_command() {
  const auto options = std::make_shared<PauseOptions>();
  return {
      .name = "pause",
      .summary = "Pause a tube, or end its pause",
      .about =
          "While a tube is paused no worker gets a job of it; producers put as before. A pause "
          "ends "
          "by itself after that time, or at once with 0. Workers that have a job keep it.",
      .examples =
          "  perennial pause mail 10m\n"
          "  # On with it:\n"
          "  perennial pause mail 0\n",
      .flags = with_server_flags(
          options->server,
          {
              {"TUBE", "TUBE", "The tube", &options->tube, true},
              {"DURATION", "DURATION", "For how long; 0 ends a pause", &options->time, true},
              server_flag(options->server),
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return pause(*options); },
  };
}

}  // namespace perennial::tool
