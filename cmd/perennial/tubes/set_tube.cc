#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/tubes/commands.h"

namespace perennial::tool {
namespace {

struct SetTubeOptions {
  ServerAddress server = {};
  std::string tube;
  // Options of the protocol, as they were given.
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> reserved = {};
  std::optional<std::string> rate = {};
  std::optional<std::string> drain = {};
  std::optional<std::string> keep = {};
  std::optional<std::string> keep_max = {};
  bool json = false;
};

Result<SetTube> read_set(const SetTubeOptions& options, ExtensionSet& needed) {
  if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  const std::initializer_list<GivenOption> given = {
      {"tries", options.tries},   {"backoff", options.backoff},   {"dead", options.dead},
      {"expire", options.expire}, {"reserved", options.reserved}, {"rate", options.rate},
      {"drain", options.drain},   {"keep", options.keep},         {"keep-max", options.keep_max}};
  if (!is_any_given(given))
    return Status(StatusCode::InvalidArgument, "say what to set: give at least one option");
  SetTube command{.tube = options.tube};
  Status read = read_options<SetTube>(given, command, needed);
  if (!read.ok()) return read;
  return command;
}

// perennial set tube: changes the settings of a tube.
Status set_tube_settings(const SetTubeOptions& options) {
  ExtensionSet needed = ExtensionSet().with(Extension::SetTube);
  const Result<SetTube> command = read_set(options, needed);
  if (!command.ok()) return command.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  const Result<wire::ClientReply> reply = server->ask(*command);
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Denied)) return denied();
  if (reply->is(Word::OutOfMemory)) {
    return {StatusCode::Io,
            "OUT_OF_MEMORY: the server has settings of as many tubes as 'settings_max' allows"};
  }
  if (!reply->is(Word::Set)) return unexpected(*reply, "set-tube");
  if (options.json) {
    print_result({{"tube", options.tube}, {"changed", true}});
  } else {
    fmt::print("changed the settings of {}\n", options.tube);
  }
  return {};
}

}  // namespace

Subcommand set_tube_command() {
  const auto options = std::make_shared<SetTubeOptions>();
  return {
      .name = "set tube",
      .summary = "Change the settings of a tube",
      .about =
          "What all jobs of the tube have in common. A setting is in force at once, for jobs that "
          "exist, too, except --expire, which is for jobs that are put from then on. It belongs to "
          "the name: the tube need not exist, and a restart does not end it. What a job says "
          "itself wins, then these settings, then 'tubes' in the server's configuration. '-' takes "
          "away what was set here. 'perennial stats --tube TUBE' shows what is in force.\n\n"
          "A time is written as '90s', '15m', '1h30m', '2d' or '250ms'; a number alone is seconds. "
          "A "
          "beanstalkd has no such command.\n\n"
          "The first tube with --keep or --keep-max gives the data directory a format that version "
          "1.0 does not read. '--keep -' removes what was kept.",
      .examples =
          "  perennial set tube mail --tries 5 --backoff 10s:10m --dead mail-dead\n"
          "  # At most 20 at once, and ten a second:\n"
          "  perennial set tube mail --reserved 20 --rate 10:1s\n"
          "  perennial set tube mail --rate -\n"
          "  # Keep the jobs that end for a day, so that they can be put back:\n"
          "  perennial set tube mail --keep 1d\n"
          "  # No more puts:\n"
          "  perennial set tube mail --drain yes\n",
      .flags = with_server_flags(
          options->server,
          {
              {"TUBE", "TUBE", "The tube", &options->tube, true},
              server_flag(options->server),
              option_flag("tries", "A job is dead after so many failed attempts", options->tries),
              option_flag("backoff", "The delay after each failed attempt, doubled up to CAP",
                          options->backoff),
              option_flag("dead", "Dead jobs move to this tube; without, they are buried",
                          options->dead),
              option_flag("expire", "Jobs expire if nobody has taken them after so long",
                          options->expire),
              option_flag("reserved", "At most so many jobs are reserved at once",
                          options->reserved),
              option_flag("rate", "So many reservations in each such time", options->rate),
              option_flag("drain", "Whether puts into the tube are refused", options->drain),
              option_flag("keep", "Jobs that end are kept for so long", options->keep),
              option_flag("keep-max", "So many of those that ended last are kept",
                          options->keep_max),
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return set_tube_settings(*options); },
  };
}

}  // namespace perennial::tool
