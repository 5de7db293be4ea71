#include <cstdio>
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
#include "cmd/perennial/jobs/ended.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"

// perennial restore-job and restore-tube: undo what ended jobs.
namespace perennial::tool {
namespace {

struct RestoreJobOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  bool json = false;
};

// A job whose key another one has stays where it is.
std::string not_restored(const wire::ClientReply& reply) {
  if (reply.is(Word::NotFound)) return "there is no such ended job, or it is kept no longer";
  if (reply.is(Word::Inserted)) {
    return fmt::format("job {} has its key ({})", reply.number,
                       reply.text.empty() ? "deleted" : reply.text);
  }
  if (reply.is(Word::Draining)) {
    return "DRAINING: the server or the tube takes no jobs ('perennial undrain', 'perennial set "
           "tube TUBE --drain no')";
  }
  if (reply.is(Word::OutOfMemory)) {
    return "OUT_OF_MEMORY: there is no space for a further job: a limit of jobs, keys, tubes or "
           "memory is reached, or the disk is nearly full ('perennial stats')";
  }
  if (reply.is(Word::InternalError)) return "its body is damaged";
  return wire::describe(reply);
}

Status restore_jobs(const RestoreJobOptions& options) {
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  Status known = require_extensions(*server, ExtensionSet().with(Extension::Ended));
  if (!known.ok()) return known;
  auto restored = nlohmann::ordered_json::array();
  auto errors = nlohmann::ordered_json::array();
  for (const JobId id : *ids) {
    const Result<wire::ClientReply> reply = server->ask(RestoreJob{id});
    if (!reply.ok()) return reply.status();
    const bool is_done = reply->is(Word::Inserted) && reply->text.empty();
    if (is_done && !options.json) fmt::print("restored {} as {}\n", id, reply->number);
    if (is_done) {
      restored.push_back({{"id", json_id(id)}, {"as", json_id(reply->number)}});
    } else {
      if (!options.json) complain("restore-job", fmt::format("{}: {}", id, not_restored(*reply)));
      errors.push_back({{"id", json_id(id)}, {"message", not_restored(*reply)}});
    }
  }
  const size_t failed = errors.size();
  if (options.json) {
    print_result({{"restored", std::move(restored)}, {"errors", std::move(errors)}});
  }
  if (failed == 0) return {};
  return {StatusCode::NotFound,
          fmt::format("{} of {} jobs were not restored", failed, ids->size())};
}

// How many of the newest are looked at behind a restore for what it has left: a tube may keep
// millions that were deleted.
constexpr uint64_t left_looked_at_max = 10'000;

struct RestoreTubeOptions {
  ServerAddress server = {};
  std::string tube;
  std::optional<std::string> since = {};
  std::optional<std::string> how = {};
  std::optional<std::string> match = {};
  Consent consent = {};
};

// How many it would be, as far as one can say: some may have gone, or lost their key, by then. No
// more than `looked_at_max` are looked at.
Result<uint64_t> count_ended(ServerConnection& server, const RestoreTube& command,
                             uint64_t looked_at_max = UINT64_MAX) {
  uint64_t count = 0;
  uint64_t looked_at = 0;
  Status read = each_ended(server, command.tube, [&](const StatsReply& job) {
    if (++looked_at > looked_at_max) return false;
    const uint64_t since = static_cast<uint64_t>(command.since.nanos / nanos_per_second);
    if (since > 0 && job.count("ended-age") > since) return false;
    const std::string_view how = job.text("ended").value_or("");
    for (const JobEndRow& row : job_end_rows)
      if (row.name == how && command.how.holds(row.how) && fits(job, command.match)) ++count;
    return true;
  });
  if (!read.ok()) return read;
  return count;
}

Status restore_tube(const RestoreTubeOptions& options) {
  if (Status checked = check_tube_name(options.tube); !checked.ok()) return checked;
  RestoreTube command{.tube = options.tube};
  ExtensionSet needed = ExtensionSet().with(Extension::Ended);
  Status read = read_options<RestoreTube>(
      {{"since", options.since}, {"how", options.how}, {"match", options.match}}, command, needed);
  if (!read.ok()) return read;
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  if (Status known = require_extensions(*server, needed); !known.ok()) return known;
  if (is_asked(options.consent)) {
    Result<uint64_t> count = count_ended(*server, command);
    if (!count.ok())
      return count.take_status().with("count what would be put back (--yes goes without)");
    const Result<Decision> decision = decide(
        options.consent,
        {.act = fmt::format("put back {} into the tube '{}' at {}", count_text(*count, "ended job"),
                            options.tube, server->address()),
         .count = *count,
         .why_nothing = fmt::format("the tube '{}' at {} keeps no such jobs", options.tube,
                                    server->address())});
    if (!decision.ok()) return decision.status();
    if (*decision != Decision::Do) {
      if (options.consent.json)
        print_result({{"dry_run", true}, {"tube", options.tube}, {"restored", *count}});
      return {};
    }
  }
  const auto silence_max = options.server.timeout.value_or(std::chrono::milliseconds(0));
  if (Status limited = server->limit_silence(silence_max); !limited.ok()) return limited;
  const Result<wire::ClientReply> reply = server->ask(command);
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Denied)) return denied();
  if (reply->is(Word::Draining) || reply->is(Word::OutOfMemory)) {
    return {StatusCode::Io, fmt::format("{}; what was put back by then stays: run it again for the "
                                        "rest, but soon if the disk is nearly full, because what "
                                        "is kept goes then, the oldest first",
                                        not_restored(*reply))};
  }
  if (!reply->is(Word::Restored)) return unexpected(*reply, "restore-tube");
  // The server passes over those that it cannot put back, and does not say how many. Who may manage
  // the tube and not inspect it has put them back all the same.
  const Result<uint64_t> left = count_ended(*server, command, left_looked_at_max);
  if (!left.ok()) complain("restore-tube", "what is left is not known: " + left.status().message());
  if (options.consent.json) {
    print_result({{"tube", options.tube},
                  {"restored", reply->number},
                  {"left", left.ok() ? nlohmann::ordered_json(*left) : nullptr}});
  } else if (reply->number == 0 && left.ok() && *left == 0) {
    fmt::print("nothing to do: the tube '{}' at {} keeps no such jobs\n", options.tube,
               server->address());
  } else {
    fmt::print("{}: restored {}\n", options.tube, count_text(reply->number, "job"));
  }
  if (!left.ok() || *left == 0) return {};
  return {StatusCode::NotFound,
          fmt::format("not put back: {}, because another job has the key or the body is damaged. "
                      "'perennial list {} --state ended' shows them, and 'perennial restore-job' "
                      "says why",
                      count_text(*left, "ended job"), options.tube)};
}

}  // namespace

Subcommand restore_job_command() {
  const auto options = std::make_shared<RestoreJobOptions>();
  return {
      .name = "restore-job",
      .summary = "Put a job back that was deleted, flushed or has expired",
      .about =
          "Where the tube keeps jobs that end ('perennial set tube TUBE --keep 1d'). 'perennial "
          "list "
          "TUBE --state ended' shows them. The job comes back with a new id, and is as it was in "
          "all else: priority, delay, tries, key, body, notes and counts. A buried one is buried "
          "again, and one that was reserved is ready. A job whose key another one has by now is "
          "not put back.\n\n"
          "Several ids are all tried; each that fails is a line on standard error, and the exit "
          "code is then 1.",
      .examples = "  perennial restore-job 4711\n",
      .flags = with_server_flags(options->server,
                                 {
                                     {"ID", "ID", "The ids that the jobs had", &options->ids, true},
                                     server_flag(options->server),
                                     {"--json", "", "Report as JSON", &options->json},
                                 }),
      .run = [options] { return restore_jobs(*options); },
  };
}

Subcommand restore_tube_command() {
  const auto options = std::make_shared<RestoreTubeOptions>();
  return {
      .name = "restore-tube",
      .summary = "Put back the jobs of a tube that were flushed",
      .about =
          "The way back from 'perennial flush', where the tube keeps jobs that end ('perennial set "
          "tube TUBE --keep 1d'). Each job comes back as 'perennial restore-job' puts it back, in "
          "the order in which they ended. Without --how only what was flushed: what workers have "
          "deleted is work that is done. --since takes what ended in the last time of this "
          "length, and --match what it takes in 'perennial flush'.\n\n"
          "It asks before, with the number of jobs; a script gives --yes. Millions of jobs take a "
          "while, in which the server serves others. If it ends before, run it again: what is back "
          "is not put back twice.\n\n"
          "A job whose key another one has by now, or whose body is damaged, stays as it was. It "
          "is counted, and the exit code is then 1. Nothing is there to be put back where the tube "
          "did not keep what ended, or while the disk had less than twice low_water_bytes free: a "
          "checkpoint may have it ('perennial checkpoint list').\n\n"
          "A user needs the right to manage the tube. To count the jobs before, and those that "
          "are left, it needs the right to inspect it, too.",
      .examples =
          "  perennial restore-tube mail --since 10m\n"
          "  # What was deleted by mistake, or has expired:\n"
          "  perennial restore-tube mail --since 1h --how deleted,expired --dry-run\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(
              options->consent,
              {
                  {"TUBE", "TUBE", "The tube", &options->tube, true},
                  server_flag(options->server),
                  option_flag("since", "Only what ended in the last time of this length",
                              options->since),
                  option_flag("how", "What ended so: flushed, deleted, expired", options->how),
                  option_flag("match", "Only jobs in these ranges", options->match),
              })),
      .run = [options] { return restore_tube(*options); },
  };
}

}  // namespace perennial::tool
