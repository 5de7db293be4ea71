#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/each_schedule.h"

namespace perennial::tool {
namespace {

struct ScheduleDeleteOptions {
  ServerAddress server = {};
  std::vector<std::string> names;
  Consent consent = {};
};

// Those of the names that the server lists.
Result<std::vector<std::string>> listed_among(ServerConnection& server,
                                              const std::vector<std::string>& names) {
  const Result<std::vector<std::string>> all = ask_schedule_names(server, {});
  if (!all.ok()) return all.status();
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (std::ranges::binary_search(*all, name)) found.push_back(name);
  }
  return found;
}

// Nobody is asked about one: whoever types a name means it.
Result<Decision> decide_on_schedules(ServerConnection& server,
                                     const std::vector<std::string>& names,
                                     const Consent& consent) {
  if (!consent.dry_run && (consent.yes || names.size() == 1)) return Decision::Do;
  const Result<std::vector<std::string>> found = listed_among(server, names);
  if (!found.ok()) return found.status();
  // Nothing will be deleted, and it is said of each name why.
  if (found->empty() && !consent.dry_run) return Decision::Do;
  if (consent.dry_run && consent.json) print_result({{"dry_run", true}, {"deleted", *found}});
  return decide(consent,
                {.act = fmt::format("delete {} at {}", count_text(found->size(), "schedule"),
                                    server.address()),
                 .count = found->size(),
                 .why_nothing = fmt::format("none of these schedules is at {}", server.address())});
}

// perennial schedule delete: deletes schedules by their names.
Status delete_schedules(const ScheduleDeleteOptions& options) {
  const Result<std::vector<std::string>> names = schedule_names(options.names);
  if (!names.ok()) return names.status();
  Result<ServerConnection> server = open_schedules(options.server);
  if (!server.ok()) return server.take_status();
  const Result<Decision> decision = decide_on_schedules(*server, *names, options.consent);
  if (!decision.ok()) return decision.status();
  if (*decision != Decision::Do) return {};
  return run_on_schedules(
      *server, *names,
      {.subcommand = "schedule delete",
       .done = "deleted",
       .command = [](std::string name) { return DeleteSchedule{std::move(name)}; },
       .success = Word::Deleted,
       .json = options.consent.json});
}

}  // namespace

Subcommand schedule_delete_command() {
  const auto options = std::make_shared<ScheduleDeleteOptions>();
  return {
      .name = "schedule delete",
      .summary = "Delete schedules",
      .about =
          "Jobs that they have put stay as they are. All names are tried; each that fails is a "
          "line on standard error, and the exit code is then 1. There is no way back, and a new "
          "schedule of the name begins anew, so several names are asked about.",
      .examples =
          "  perennial schedule delete nightly\n"
          "  perennial schedule delete nightly hourly --yes\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(options->consent,
                             {
                                 {"NAME", "NAME", "The schedules", &options->names, true},
                                 server_flag(options->server),
                             })),
      .run = [options] { return delete_schedules(*options); },
  };
}

}  // namespace perennial::tool
