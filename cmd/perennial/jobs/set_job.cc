#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/each_job.h"

namespace perennial::tool {
namespace {

struct SetJobOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  // Options of the protocol, as they were given.
  std::optional<std::string> tube = {};
  std::optional<std::string> priority = {};
  std::optional<std::string> delay = {};
  std::optional<std::string> ttr = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  bool json = false;
};

// What is to be changed, without an id.
Result<SetJob> read_set(const SetJobOptions& options, ExtensionSet& needed) {
  const std::initializer_list<GivenOption> given = {
      {"tube", options.tube},       {"pri", options.priority},  {"delay", options.delay},
      {"ttr", options.ttr},         {"expire", options.expire}, {"tries", options.tries},
      {"backoff", options.backoff}, {"dead", options.dead}};
  if (!is_any_given(given))
    return Status(StatusCode::InvalidArgument, "say what to change: give at least one option");
  SetJob command{};
  Status read = read_options<SetJob>(given, command, needed);
  if (!read.ok()) return read;
  return command;
}

std::string why_without_delay(std::string_view state) {
  if (state == "reserved") {
    return "a worker has it; only that worker can change it, or anyone when its time is over "
           "('time-left' in 'perennial stats --job')";
  }
  return fmt::format("is {}, and cannot have a delay", state);
}

// perennial set job: changes jobs.
Status set_jobs(const SetJobOptions& options) {
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  ExtensionSet needed = ExtensionSet().with(Extension::SetJob);
  Result<SetJob> command = read_set(options, needed);
  if (!command.ok()) return command.take_status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  return run_on_each(*server, *ids,
                     {.subcommand = "set job",
                      .done = "changed",
                      .command =
                          [&command](JobId id) {
                            command->id = id;
                            return *command;
                          },
                      .success = Word::Set,
                      .reason = why_without_delay,
                      .json = options.json});
}

}  // namespace

Subcommand set_job_command() {
  const auto options = std::make_shared<SetJobOptions>();
  return {
      .name = "set job",
      .summary = "Change priority, delay, ttr, tube and other fields of jobs",
      .about =
          "Changes what is given, and leaves the rest. A job that a worker has reserved cannot be "
          "changed by anyone else. Several ids are all tried; each that fails is a line on "
          "standard error, and the exit code is then 1.\n\n"
          "A delay is for ready and delayed jobs, and begins now; with 0 the job is ready. In a "
          "new "
          "tube the job keeps its state, its id and its place by id, and loses its key. A ttr is "
          "in force from the next reservation on. '-' takes away what the job itself has of "
          "expiry, tries, back-off and dead tube, so that the settings of its tube apply. A time "
          "is written as '90s', '15m', '1h30m', '2d' or '250ms'; a number alone is seconds. A "
          "beanstalkd has no such command.",
      .examples =
          "  perennial set job 4711 --pri 0\n"
          "  perennial set job 4711 4712 --tube mail-slow --tries 3\n"
          "  # It never expires:\n"
          "  perennial set job 4711 --expire -\n",
      .flags = with_server_flags(
          options->server,
          {
              {"ID", "ID", "The numbers of the jobs", &options->ids, true},
              server_flag(options->server),
              option_flag("tube", "It moves to this tube", options->tube),
              option_flag("pri", "Its priority", options->priority),
              option_flag("delay", "It is delayed from now on; 0: it is ready", options->delay),
              option_flag("ttr", "How long a worker may hold it", options->ttr),
              option_flag("expire", "It expires so much later than now; '-': never",
                          options->expire),
              option_flag("tries", "It is dead after so many failed attempts; '-'", options->tries),
              option_flag("backoff", "Its delay after each failed attempt; '-'", options->backoff),
              option_flag("dead", "It moves to this tube when it is dead; '-'", options->dead),
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return set_jobs(*options); },
  };
}

}  // namespace perennial::tool
