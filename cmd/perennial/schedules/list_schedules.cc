#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/colours.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/schedules_table.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

struct ScheduleListOptions {
  ServerAddress server = {};
  std::string tube;  // Empty: all tubes.
  bool json = false;
};

// perennial schedule list: prints a line for each schedule.
Status list_schedules(const ScheduleListOptions& options) {
  if (!options.tube.empty()) {
    if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  }
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<std::vector<StatsReply>> all = ask_schedule_list(*server, options.tube);
  if (!all.ok()) return all.status();
  if (!options.json) {
    std::fputs(with_bold_heading(schedules_table(*all), STDOUT_FILENO).c_str(), stdout);
    return {};
  }
  auto rows = nlohmann::ordered_json::array();
  for (const StatsReply& row : *all) rows.push_back(nlohmann::ordered_json::parse(to_json(row)));
  print_result({{"schedules", std::move(rows)}});
  return {};
}

}  // namespace

Subcommand schedule_list_command() {
  const auto options = std::make_shared<ScheduleListOptions>();
  return {
      .name = "schedule list",
      .summary = "List the schedules of a server, a line each, in the order of their names",
      .about =
          "WHEN is the period, the cron expression, which is read in ZONE, or the one time. STATE "
          "is 'active'; 'paused'; 'over' when no time is left; or 'no-zone' when the tzdata of "
          "the server does not know the zone any more. '(refused: WHY)' behind it says that the "
          "server cannot put its job, and tries it again each second: because it drains "
          "(draining), lacks space on its disk or in memory (space), or has reached a limit, such "
          "as jobs_max. "
          "NEXT is when the next job is put, in UTC, with the jitter. LAST JOB is the id of the "
          "one that was put last, and its state, 'gone' if it is no more.\n\n"
          "FIRED counts the jobs that were put, SKIPPED the times that passed because the last "
          "job was still there, and MISSED those that passed while the server was off.\n\n"
          "With --json each key is there, as the protocol names it.",
      .examples =
          "  perennial schedule list\n"
          "  perennial schedule list --tube reports\n"
          "  # What is paused?\n"
          "  perennial schedule list --json | jq -r '.schedules[] | select(.state == "
          "\"paused\").name'\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--tube", "TUBE", "Only those that put into this tube", &options->tube},
              {"--json", "", "As JSON", &options->json},
          }),
      .run = [options] { return list_schedules(*options); },
  };
}

}  // namespace perennial::tool
