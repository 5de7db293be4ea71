#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/body.h"
#include "cmd/perennial/arguments/protocol_option.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/schedule_request.h"
#include "cmd/perennial/schedules/server_schedules.h"

namespace perennial::tool {
namespace {

struct ScheduleSetOptions {
  ServerAddress server = {};
  std::string name;
  GivenBody body = {};
  std::string tube = "default";
  uint32_t priority = 1024;
  std::string delay = "0";
  std::string ttr = "60";
  // Options of the protocol, as they were given.
  std::optional<std::string> every = {};
  std::optional<std::string> cron = {};
  std::optional<std::string> at = {};
  std::optional<std::string> anchor = {};
  std::optional<std::string> zone = {};
  std::optional<std::string> missed = {};
  std::optional<std::string> overlap = {};
  std::optional<std::string> jitter = {};
  std::optional<std::string> paused = {};
  std::optional<std::string> idp = {};
  std::optional<std::string> until = {};
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> concurrency = {};
  bool json = false;
};

Result<ScheduleRequest> read_schedule_flags(const ScheduleSetOptions& options) {
  if (Status checked = check_schedule_name(options.name); !checked.ok()) return checked;
  ScheduleRequest request(options.name);
  const std::pair<std::string_view, std::optional<std::string>> given[] = {
      {"tube", options.tube},       {"pri", fmt::to_string(options.priority)},
      {"delay", options.delay},     {"ttr", options.ttr},
      {"every", options.every},     {"cron", options.cron},
      {"at", options.at},           {"anchor", options.anchor},
      {"zone", options.zone},       {"missed", options.missed},
      {"overlap", options.overlap}, {"jitter", options.jitter},
      {"paused", options.paused},   {"idp", options.idp},
      {"until", options.until},     {"tries", options.tries},
      {"backoff", options.backoff}, {"dead", options.dead},
      {"expire", options.expire},   {"con", options.concurrency}};
  for (const auto& [name, text] : given) {
    if (!text) continue;
    Status set = request.set(name, *text);
    if (!set.ok()) return std::move(set).with(fmt::format("--{}", name));
  }
  if (Status checked = request.check("--"); !checked.ok()) return checked;
  return request;
}

// perennial schedule set: makes a schedule, or replaces what was set of it.
Status set_a_schedule(const ScheduleSetOptions& options) {
  if (Status checked = check_body(options.body); !checked.ok()) return checked;
  const Result<ScheduleRequest> request = read_schedule_flags(options);
  if (!request.ok()) return request.status();
  const Result<std::string> body = read_body(options.body);
  if (!body.ok()) return body.status();
  if (body->size() > u32_max)
    return {StatusCode::InvalidArgument, "a body has more than 4 GiB, and no server takes it"};
  Result<ServerConnection> server = open_schedules(options.server, request->needed());
  if (!server.ok()) return server.take_status();
  SetSchedule command = request->command();
  command.body_bytes = static_cast<uint32_t>(body->size());
  const Result<wire::ClientReply> reply = server->ask(command, *body);
  if (!reply.ok()) return reply.status();
  if (!reply->is(Word::Set)) return schedule_refused(*reply, "set-schedule");
  if (options.json) {
    print_result({{"schedule", options.name}, {"set", true}});
  } else {
    fmt::print("set {}\n", options.name);
  }
  return {};
}

}  // namespace

Subcommand schedule_set_command() {
  const auto options = std::make_shared<ScheduleSetOptions>();
  return {
      .name = "schedule set",
      .summary = "Make a schedule, or change it",
      .about =
          "A schedule puts a job at each of its times. Times are one of: --every, a period; "
          "--cron, "
          "an expression, which is read in --zone ('perennial schedule next' explains it, and "
          "shows its coming times); or --at, once. The body and the other flags are those of "
          "'perennial put'.\n\n"
          "All that was set of a schedule of this name is replaced, so flags that are not given "
          "are as in a new one. If its times stay the same, the next one does, too; without "
          "--paused a schedule that is paused stays so, and without --anchor a period that stays "
          "the same keeps its anchor.\n\n"
          "--missed says for how many times that passed while the server was off a job is put: "
          "'none', 'one', 'all' or a number; 'one' is usual. --overlap says what becomes of a time "
          "while the job that was put last is still there, in any state: 'allow' puts one more, "
          "which is usual; 'skip' puts none; 'replace' deletes the old one, unless a worker has "
          "it.\n\n"
          "For many schedules, and for those of a repository, there is 'perennial schedule "
          "apply'.",
      .examples =
          "  perennial schedule set nightly 'report' --tube reports --cron '0 3 * * *' \\\n"
          "    --zone Europe/Berlin --overlap skip\n"
          "  perennial schedule set ping 'ping' --every 5m --jitter 30s --expire 5m\n"
          "  # Once:\n"
          "  perennial schedule set launch --at 2026-03-29T09:00:00+02:00 --file message.json\n",
      .flags = with_server_flags(
          options->server,
          {
              {"NAME", "NAME", "The schedule", &options->name, true},
              {"BODY", "TEXT", "The body; '-' or nothing: standard input", &options->body.argument},
              server_flag(options->server),
              {"--file", "FILE", "The body is in this file", &options->body.file},
              option_flag("every", "The period, at least 1s", options->every),
              option_flag("cron", "The cron expression, as one word", options->cron),
              option_flag("at", "The one time, in RFC 3339", options->at),
              option_flag("anchor", "A time from which the periods are counted; without, now",
                          options->anchor),
              option_flag("zone", "The time zone of the expression; without, UTC", options->zone),
              option_flag("missed", "For how many missed times a job is put; one", options->missed),
              option_flag("overlap", "While the last job is still there; allow", options->overlap),
              option_flag("jitter", "Each time is later by some part of this", options->jitter),
              option_flag("paused", "Whether it is paused; without, as it was", options->paused),
              tube_flag(options->tube),
              {"--pri", "N", "The priority of a job; 0 is the most urgent", &options->priority},
              option_flag("delay", "How long before a job becomes ready", options->delay),
              option_flag("ttr", "How long a worker may hold a job", options->ttr),
              option_flag("idp", "Put a job only if no job of the tube has this key", options->idp),
              until_flag(options->until),
              option_flag("tries", "A job is dead after so many failed attempts", options->tries),
              option_flag("backoff", "The delay after each failed attempt, doubled up to CAP",
                          options->backoff),
              option_flag("dead", "Dead jobs move to this tube; without, they are buried",
                          options->dead),
              option_flag("expire", "A job expires if nobody has taken it after so long",
                          options->expire),
              option_flag("con", "At most so many jobs of the tube with this key are reserved; 1",
                          options->concurrency),
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return set_a_schedule(*options); },
  };
}

}  // namespace perennial::tool
