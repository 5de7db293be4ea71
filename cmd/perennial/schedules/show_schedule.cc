#include <memory>
#include <string>

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/output.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/text.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/schedule_request.h"
#include "cmd/perennial/schedules/schedules_table.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

struct ScheduleShowOptions {
  ServerAddress server = {};
  std::string name;
  bool body = false;
  bool json = false;
};

void print_schedule_json(const ToldSchedule& told) {
  nlohmann::ordered_json out = nlohmann::ordered_json::parse(to_json(told.stats));
  if (is_utf8(told.body)) {
    out["body"] = told.body;
  } else {
    out["body_base64"] = absl::Base64Escape(told.body);
  }
  print_result(out);
}

void print_schedule(const ToldSchedule& told) {
  fmt::print("{}\n{}", schedule_table(told.stats), printable(told.body));
  if (!told.body.ends_with('\n')) fmt::print("\n");
}

// perennial schedule show: prints what is known of a schedule, and its body.
Status show_schedule(const ScheduleShowOptions& options) {
  if (options.body && options.json)
    return {StatusCode::InvalidArgument, "--body and --json exclude each other"};
  if (Status checked = check_schedule_name(options.name); !checked.ok()) return checked;
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<ToldSchedule> told = ask_schedule(*server, options.name);
  if (!told.ok()) return told.status();
  if (options.body) {
    Output out(STDOUT_FILENO);
    out.add(told->body);
    return out.finish();
  }
  options.json ? print_schedule_json(*told) : print_schedule(*told);
  return {};
}

}  // namespace

Subcommand schedule_show_command() {
  const auto options = std::make_shared<ScheduleShowOptions>();
  return {
      .name = "schedule show",
      .summary = "Show a schedule and its body",
      .about =
          "What was set, by the names of the protocol, how far the schedule is, and the body of "
          "its jobs. 'planned' is the next planned time, and 'next' is later than that by its "
          "part of the jitter.\n\n"
          "With --body only the body, all its bytes as they are.",
      .examples =
          "  perennial schedule show nightly\n"
          "  perennial schedule show nightly --body > body\n",
      .flags = with_server_flags(options->server,
                                 {
                                     {"NAME", "NAME", "The schedule", &options->name, true},
                                     server_flag(options->server),
                                     {"--body", "", "Only the body", &options->body},
                                     {"--json", "", "As JSON", &options->json},
                                 }),
      .run = [options] { return show_schedule(*options); },
  };
}

}  // namespace perennial::tool
