#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/output.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/file/schedule_file.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

struct ScheduleExportOptions {
  ServerAddress server = {};
  std::string tube;  // Empty: all tubes.
};

// Another server would take its one time, which has passed, for one that was missed.
bool is_done(const StatsReply& schedule) {
  return schedule.text("at") && schedule.text("state") == "over";
}

// perennial schedule export: prints a file that `perennial schedule apply` reads.
Status export_schedules(const ScheduleExportOptions& options) {
  if (!options.tube.empty()) {
    if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  }
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<std::vector<StatsReply>> list = ask_schedule_list(*server, options.tube);
  if (!list.ok()) return list.status();
  std::vector<std::string> names;
  for (const StatsReply& row : *list) {
    if (!is_done(row)) names.emplace_back(row.text("name").value_or(""));
  }
  Result<std::vector<std::optional<ToldSchedule>>> told = ask_schedules(*server, names);
  if (!told.ok()) return told.take_status();
  std::vector<ToldSchedule> schedules;
  for (std::optional<ToldSchedule>& one : *told) {
    if (one) schedules.push_back(*std::move(one));
  }
  Output out(STDOUT_FILENO);
  out.add(schedule_file_text(schedules));
  if (Status written = out.finish(); !written.ok()) return written;
  const size_t left_out = list->size() - names.size();
  if (left_out > 0 && !is_quiet()) {
    complain("schedule export",
             fmt::format("{} schedules are left out, because their one time has passed",
                         with_commas(left_out)));
  }
  return {};
}

}  // namespace

Subcommand schedule_export_command() {
  const auto options = std::make_shared<ScheduleExportOptions>();
  return {
      .name = "schedule export",
      .summary = "Write the schedules of a server as the file that 'apply' reads",
      .about =
          "Prints YAML: of each schedule what differs from a schedule of which only the times are "
          "said, and the anchor of a period, so that another server has the same times. A "
          "body that is no text is in base64, with YAML's tag !!binary. A schedule whose one time "
          "has passed is left out: another server would make up for it.\n\n"
          "To move schedules to another server: export them, pause them here, and apply the file "
          "there. They begin there with the times that come next.",
      .examples =
          "  perennial schedule export > schedules.yaml\n"
          "  # To another server:\n"
          "  perennial schedule export --tube reports > reports.yaml\n"
          "  perennial schedule pause --tube reports\n"
          "  perennial schedule apply --server @new reports.yaml\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--tube", "TUBE", "Only those that put into this tube", &options->tube},
          }),
      .run = [options] { return export_schedules(*options); },
  };
}

}  // namespace perennial::tool
