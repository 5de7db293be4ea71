#include <memory>
#include <string>

#include <absl/strings/ascii.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/schedule_request.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

struct ScheduleRunOptions {
  ServerAddress server = {};
  std::string name;
  bool json = false;
};

// `state`: that of the job that is there already. Empty: the job is new.
void print_run(const ScheduleRunOptions& options, JobId id, const std::string& state) {
  if (options.json) {
    nlohmann::ordered_json out = {
        {"schedule", options.name}, {"id", json_id(id)}, {"duplicate", !state.empty()}};
    if (!state.empty()) out["state"] = state;
    return print_result(out);
  }
  fmt::print("{}\n", id);
  if (state.empty()) return;
  complain("schedule run",
           fmt::format("nothing was put: job {} is there already, and is {}", id, state));
}

// perennial schedule run: puts the job of a schedule now. Prints its id. Returns the exit status:
// exit_duplicate if an earlier job is still there.
Result<int> run_schedule(const ScheduleRunOptions& options) {
  if (Status checked = check_schedule_name(options.name); !checked.ok()) return checked;
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<wire::ClientReply> reply = server->ask(RunSchedule{options.name});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound)) return no_schedule(*server, options.name);
  if (!reply->is(Word::Inserted)) return schedule_refused(*reply, "run-schedule");
  const std::string state = absl::AsciiStrToLower(reply->text);
  print_run(options, reply->number, state);
  return state.empty() ? common::exit_clean : common::exit_duplicate;
}

}  // namespace

Subcommand schedule_run_command() {
  const auto options = std::make_shared<ScheduleRunOptions>();
  return {
      .name = "schedule run",
      .summary = "Put the job of a schedule now, once more",
      .about =
          "Prints the id of the job. The planned times stay as they are, and a schedule that is "
          "paused stays so.\n\n"
          "If the schedule has --overlap skip, and the job that it has put last is still there, "
          "or another job has the key of its --idp, nothing is put: the id of that job is "
          "printed, and its state on standard error, and the exit code is 3.",
      .examples = "  perennial schedule run nightly\n",
      .flags = with_server_flags(options->server,
                                 {
                                     {"NAME", "NAME", "The schedule", &options->name, true},
                                     server_flag(options->server),
                                     {"--json", "", "Report as JSON", &options->json},
                                 }),
      .run_to_exit_status = [options] { return run_schedule(*options); },
      .exit_statuses = {{common::exit_duplicate, "when an earlier job is still there"}},
  };
}

}  // namespace perennial::tool
