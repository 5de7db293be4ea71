#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/each_job.h"
#include "cmd/perennial/jobs/tube_walk.h"
#include "cmd/perennial/output/json.h"

namespace perennial::tool {
namespace {

struct KickOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  std::string tube;  // Instead of ids, together with one of the next two.
  std::optional<uint64_t> count = {};
  bool all = false;  // Perennial only, as are the states and ranges of these jobs.
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
  Consent consent = {};  // It asks before a walk.
};

bool is_walk(const KickOptions& options) {
  return options.all || options.states || options.match;
}

Status check(const KickOptions& options) {
  const bool by_tube = !options.tube.empty() || options.count || is_walk(options);
  if (by_tube != options.ids.empty())
    return {StatusCode::InvalidArgument, "give the ids of jobs, or --tube with --count or --all"};
  if (options.consent.dry_run && !is_walk(options))
    return {StatusCode::InvalidArgument, "--dry-run goes with --all, --state and --match"};
  if (!by_tube) return {};
  if (options.count && is_walk(options))
    return {StatusCode::InvalidArgument, "--count does not go with --all, --state and --match"};
  if (options.tube.empty() || (!options.count && !is_walk(options)))
    return {StatusCode::InvalidArgument, "--tube goes together with --count or --all"};
  if (options.count && (*options.count == 0 || *options.count > u32_max))
    return {StatusCode::InvalidArgument, fmt::format("--count is from 1 to {}", u32_max)};
  return check_tube_name(options.tube);
}

Status kick_all(const KickOptions& options) {
  KickTube command{.tube = options.tube};
  ExtensionSet needed = ExtensionSet().with(Extension::KickTube);
  Status read = read_options<KickTube>({{"state", options.states}, {"match", options.match}},
                                       command, needed);
  if (!read.ok()) return read;
  if (command.states.holds(JobState::Ready) || command.states.holds(JobState::Reserved))
    return {StatusCode::InvalidArgument, "--state: only buried and delayed jobs can be kicked"};
  return run_tube_walk(
      options.server, options.consent,
      {.command = command,
       .tube = options.tube,
       .needed = needed,
       .success = Word::KickedCount,
       .states = command.states,
       .match = command.match,
       .verb = "kick",
       .done = "kicked",
       .line = [](uint64_t count) { return fmt::format("kicked {} jobs\n", count); }});
}

Status kick_tube(ServerConnection& server, const KickOptions& options) {
  // Otherwise `use` makes the tube, and nothing is kicked in it.
  if (Status s = require_tube(server, options.tube); !s.ok()) return s;
  if (Status used = use_tube(server, options.tube); !used.ok()) return used;
  const Result<wire::ClientReply> reply = server.ask(Kick{static_cast<uint32_t>(*options.count)});
  if (!reply.ok()) return reply.status();
  if (!reply->is(Word::KickedCount)) return unexpected(*reply, "kick");
  if (options.consent.json) {
    print_result({{"tube", options.tube}, {"kicked", reply->number}});
  } else {
    fmt::print("kicked {} jobs\n", reply->number);
  }
  return {};
}

// perennial kick: makes buried and delayed jobs ready.
Status kick(const KickOptions& options) {
  if (Status checked = check(options); !checked.ok()) return checked;
  if (is_walk(options)) return kick_all(options);
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (ids->empty()) return kick_tube(*server, options);
  return run_on_each(*server, *ids,
                     {.subcommand = "kick",
                      .done = "kicked",
                      .command = [](JobId id) { return KickJob{id}; },
                      .success = Word::Kicked,
                      .reason =
                          [](std::string_view state) {
                            return fmt::format("is {}, neither buried nor delayed", state);
                          },
                      .json = options.consent.json});
}

}  // namespace

Subcommand kick_command() {
  const auto options = std::make_shared<KickOptions>();
  return {
      .name = "kick",
      .summary = "Make buried or delayed jobs ready again",
      .about =
          "By their ids, or the first ones of a tube. Of a tube that has buried jobs only those "
          "are "
          "kicked, in the order in which they were buried, even if they are fewer than --count; "
          "else delayed ones, the first to be due first. Prints what was kicked.\n\n"
          "With --all all buried and delayed jobs of the tube, with --state only those in one of "
          "the two states, and with --match only those whose age, priority, number of "
          "reservations or of timeouts is in the ranges given: 3-5, 3-, -5 or 3. A beanstalkd has "
          "no such command. These three ask before, with the number of jobs; a script gives "
          "--yes.\n\n"
          "Several ids are all tried; each that fails is a line on standard error, and the exit "
          "code is then 1.",
      .examples =
          "  perennial kick 4711 4712\n"
          "  perennial kick --tube mail --count 100\n"
          "  perennial kick --tube mail --all --yes\n"
          "  perennial kick --tube mail --state buried --match age=-1h,reserves=-3 --dry-run\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(options->consent,
                             {
                                 {"ID", "ID", "The numbers of the jobs", &options->ids},
                                 server_flag(options->server),
                                 {"--tube", "TUBE", "Jobs of this tube", &options->tube},
                                 {"--count", "N", "At most so many", &options->count},
                                 {"--all", "", "All that can be kicked", &options->all},
                                 option_flag("state", "Only jobs in these states", options->states),
                                 option_flag("match", "Only jobs in these ranges", options->match),
                             })),
      .run = [options] { return kick(*options); },
  };
}

}  // namespace perennial::tool
