#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/tube_walk.h"

namespace perennial::tool {
namespace {

struct FlushOptions {
  ServerAddress server = {};
  std::string tube;
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
  Consent consent = {};
};

// perennial flush: deletes the jobs of a tube.
Status flush(const FlushOptions& options) {
  if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  FlushTube command{.tube = options.tube};
  ExtensionSet needed = ExtensionSet().with(Extension::FlushTube);
  Status read = read_options<FlushTube>({{"state", options.states}, {"match", options.match}},
                                        command, needed);
  if (!read.ok()) return read;
  return run_tube_walk(options.server, options.consent,
                       {.command = command,
                        .tube = options.tube,
                        .needed = needed,
                        .success = Word::Flushed,
                        .states = command.states.value_or(StateSet::all()),
                        .match = command.match,
                        .verb = "delete",
                        .done = "deleted",
                        .line = [&options](uint64_t count) {
                          return fmt::format("{}: deleted {} jobs\n", options.tube, count);
                        }});
}

}  // namespace

Subcommand flush_command() {
  const auto options = std::make_shared<FlushOptions>();
  return {
      .name = "flush",
      .summary = "Delete all jobs of a tube",
      .about =
          "Jobs in all states, those that workers have reserved among them: their next command "
          "about the job is answered NOT_FOUND. With --state only the jobs in these states, and "
          "with --match only those whose age, priority, number of reservations or of "
          "timeouts is in the ranges given: 3-5, 3-, -5 or 3. There is no way back, "
          "unless the tube keeps what ends ('perennial set tube TUBE --keep 1d') and the disk is "
          "not short of space: 'perennial restore-tube' puts it back then. 'perennial dump "
          "--server localhost --tube TUBE > FILE' saves the jobs first.\n\n"
          "It asks before, with the number of jobs; a script gives --yes. 'perennial list' with "
          "the same --state and --match shows them. In a tube without jobs --yes frees the keys "
          "whose "
          "time is not over.\n\n"
          "Jobs that are put meanwhile stay. Millions of jobs take a while, in which the server "
          "serves others; if the connection ends before, run it again. The keys of the jobs are "
          "free afterwards, and without --state and --match so are those whose time is not over. "
          "The settings "
          "of the tube stay. A beanstalkd has no such command.",
      .examples =
          "  perennial flush mail\n"
          "  perennial flush mail --state buried,delayed --dry-run\n"
          "  # Jobs of more than a day that were tried three times or more:\n"
          "  perennial flush mail --match age=1d-,reserves=3- --yes\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(options->consent,
                             {
                                 {"TUBE", "TUBE", "The tube", &options->tube, true},
                                 server_flag(options->server),
                                 option_flag("state", "Only jobs in these states", options->states),
                                 option_flag("match", "Only jobs in these ranges", options->match),
                             })),
      .run = [options] { return flush(*options); },
  };
}

}  // namespace perennial::tool
