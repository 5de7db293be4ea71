#include <cstdint>
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

struct MoveOptions {
  ServerAddress server = {};
  std::string from;
  std::string to;
  std::optional<std::string> states = {};
  std::optional<std::string> match = {};
  std::optional<uint64_t> count = {};
  Consent consent = {};
};

Result<MoveTube> read_move(const MoveOptions& options, ExtensionSet& needed) {
  for (const std::string& tube : {options.from, options.to})
    if (Status checked = check_tube_name(tube); !checked.ok()) return checked;
  if (options.from == options.to)
    return Status(StatusCode::InvalidArgument, "TUBE and TO are the same tube");
  MoveTube command{.from = options.from, .to = options.to};
  Status read = read_options<MoveTube>({{"state", options.states}, {"match", options.match}},
                                       command, needed);
  if (!read.ok()) return read;
  if (command.states.holds(JobState::Reserved)) {
    return Status(StatusCode::InvalidArgument,
                  "--state: a reserved job cannot be moved: a worker has it");
  }
  if (options.count) command.count.value = *options.count;
  return command;
}

// perennial move: moves the jobs of a tube to another one.
Status move_jobs(const MoveOptions& options) {
  ExtensionSet needed = ExtensionSet().with(Extension::MoveTube);
  const Result<MoveTube> command = read_move(options, needed);
  if (!command.ok()) return command.status();
  return run_tube_walk(options.server, options.consent,
                       {.command = *command,
                        .tube = options.from,
                        .needed = needed,
                        .success = Word::Moved,
                        .states = command->states,
                        .match = command->match,
                        .count_max = command->count.value,
                        .verb = "move",
                        .to = options.to,
                        .done = "moved",
                        .line = [&options](uint64_t count) {
                          return fmt::format("{}: moved {} jobs to {}\n", options.from, count,
                                             options.to);
                        }});
}

}  // namespace

Subcommand move_command() {
  const auto options = std::make_shared<MoveOptions>();
  return {
      .name = "move",
      .summary = "Move the jobs of a tube to another one, where they are ready",
      .about =
          "The way back for dead jobs. Ready, delayed and buried jobs are moved, or with --state "
          "only those in these states; jobs that workers have reserved stay. With --match only "
          "those "
          "whose age, priority, number of reservations or of timeouts is in the ranges "
          "given: 3-5, 3-, -5 or 3. With --count only so many, those with the lowest ids. It asks "
          "before, with the number of jobs; a script gives --yes.\n\n"
          "A job keeps its id, body, priority, ttr and counters. Its attempts begin anew, and it "
          "loses its key and its expiry. Jobs that are put meanwhile stay. Millions of jobs take a "
          "while, in which the server serves others; if the connection ends before, run it again. "
          "A beanstalkd has no such command.",
      .examples =
          "  # One job first, to see whether it is done now:\n"
          "  perennial move mail-dead mail --count 1 --yes\n"
          "  perennial move mail-dead mail\n"
          "  # What was put in the last hour:\n"
          "  perennial move mail-dead mail --match age=-1h --dry-run\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(
              options->consent,
              {
                  {"TUBE", "TUBE", "The tube that has the jobs", &options->from, true},
                  {"TO", "TUBE", "The tube that gets them", &options->to, true},
                  server_flag(options->server),
                  option_flag("state", "Only jobs in these states", options->states),
                  option_flag("match", "Only jobs in these ranges", options->match),
                  {.name = "--count",
                   .value = "N",
                   .help = "At most so many",
                   .target = &options->count,
                   .lowest = 1},
              })),
      .run = [options] { return move_jobs(*options); },
  };
}

}  // namespace perennial::tool
