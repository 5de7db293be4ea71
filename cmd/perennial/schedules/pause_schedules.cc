#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/each_schedule.h"

namespace perennial::tool {
namespace {

struct SchedulePauseOptions {
  ServerAddress server = {};
  std::vector<std::string> names;
  std::string tube;
  bool all = false;
  bool resume = false;
  bool json = false;
};

Status check_pause(const SchedulePauseOptions& options) {
  const int given = int{!options.names.empty()} + int{!options.tube.empty()} + int{options.all};
  if (given != 1)
    return {StatusCode::InvalidArgument, "say which schedules: names, --tube or --all"};
  return options.tube.empty() ? Status() : check_tube_name(options.tube);
}

Result<std::vector<std::string>> names_to_pause(ServerConnection& server,
                                                const SchedulePauseOptions& options) {
  if (!options.names.empty()) return schedule_names(options.names);
  return ask_schedule_names(server, options.tube);
}

// perennial schedule pause: schedules put no jobs for now, or again.
Status pause_schedules(const SchedulePauseOptions& options) {
  if (Status checked = check_pause(options); !checked.ok()) return checked;
  // Before a server is asked.
  if (const auto given = schedule_names(options.names); !given.ok()) return given.status();
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<std::vector<std::string>> names = names_to_pause(*server, options);
  if (!names.ok()) return names.status();
  if (names->empty() && !options.json) {
    fmt::print("nothing to do: {} has no such schedules\n", server->address());
    return {};
  }
  const bool is_paused = !options.resume;
  return run_on_schedules(*server, *names,
                          {.subcommand = "schedule pause",
                           .done = is_paused ? "paused" : "resumed",
                           .command =
                               [is_paused](std::string name) {
                                 return PauseSchedule{.name = std::move(name),
                                                      .paused = No{.given = !is_paused}};
                               },
                           .success = is_paused ? Word::Paused : Word::Set,
                           .json = options.json});
}

}  // namespace

Subcommand schedule_pause_command() {
  const auto options = std::make_shared<SchedulePauseOptions>();
  return {
      .name = "schedule pause",
      .summary = "Pause schedules, or let them go on",
      .about =
          "A schedule that is paused puts no job. The times that pass meanwhile are left out, and "
          "not made up for: when it goes on, its next job is that of the next time. Only the one "
          "time of an --at is made up for. Jobs that it has put stay as "
          "they are, and 'perennial schedule run' puts one even so. A pause outlasts a restart, "
          "and a change of the schedule.\n\n"
          "All schedules of a restored copy of a server are paused, so that two servers do not "
          "put the same jobs: '--all --resume' ends that, also of those that somebody had paused "
          "before.",
      .examples =
          "  perennial schedule pause nightly\n"
          "  perennial schedule pause nightly --resume\n"
          "  # All that put into this tube:\n"
          "  perennial schedule pause --tube reports\n"
          "  # A restored copy takes the place of the server:\n"
          "  perennial schedule pause --all --resume\n",
      .flags = with_server_flags(
          options->server,
          {
              {"NAME", "NAME", "The schedules", &options->names},
              server_flag(options->server),
              {"--tube", "TUBE", "All that put into this tube, instead of names", &options->tube},
              {"--all", "", "All, instead of names", &options->all},
              {"--resume", "", "End the pause", &options->resume},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return pause_schedules(*options); },
  };
}

}  // namespace perennial::tool
