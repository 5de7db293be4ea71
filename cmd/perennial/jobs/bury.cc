#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/each_job.h"

namespace perennial::tool {
namespace {

struct BuryOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  std::optional<uint64_t> priority;  // None: each job keeps its own.
  bool json = false;
};

constexpr std::string_view no_such_job = "there is no such job";

Status put_back(ServerConnection& server, const StatsReply& before) {
  const bool delayed = before.text("state") == "delayed";
  const uint64_t delay_s = delayed ? before.count("time-left") : 0;
  const Result<wire::ClientReply> reply =
      server.ask(Release{.id = before.count("id"),
                         .priority = static_cast<uint32_t>(before.count("pri")),
                         .delay_s = static_cast<uint32_t>(delay_s)});
  if (!reply.ok()) return reply.status();
  return reply->is(Word::Released) ? Status() : unexpected(*reply, "release it again");
}

// Buries a job that reserve-job has just reserved.
Status bury_reserved(ServerConnection& server, const StatsReply& before, uint32_t priority) {
  const Result<wire::ClientReply> reply = server.ask(Bury{before.count("id"), priority});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Buried)) return {};
  Status failed = unexpected(*reply, "bury");
  const Status back = put_back(server, before);
  if (back.ok()) return {StatusCode::NotFound, failed.message() + "; it is as it was"};
  return {StatusCode::NotFound, failed.message() + "; " + back.message()};
}

// Why reserve-job was answered NOT_FOUND, as far as the job shows it now.
Status why_not_taken(ServerConnection& server, JobId id) {
  const Result<StatsReply> job = ask_stats(server, StatsJob{id});
  if (!job.ok() && job.status().code() == StatusCode::NotFound)
    return {StatusCode::NotFound, "was deleted in this moment"};
  if (!job.ok()) return job.status();
  if (job->text("state") == "reserved")
    return {StatusCode::NotFound, "a worker has it; only that worker can bury it"};
  if (job->text("parked") == "true") {
    return {StatusCode::NotFound,
            "is parked: as many jobs with its concurrency key are reserved as may be"};
  }
  return {StatusCode::NotFound, "was with a worker in this moment; try again"};
}

Status bury_one(ServerConnection& server, JobId id, std::optional<uint64_t> priority) {
  const Result<StatsReply> before = ask_stats(server, StatsJob{id});
  if (!before.ok() && before.status().code() == StatusCode::NotFound)
    return {StatusCode::NotFound, std::string(no_such_job)};
  if (!before.ok()) return before.status();
  if (before->text("state") == "buried" && !priority)
    return {StatusCode::NotFound, "is buried already"};
  const Result<wire::ClientReply> taken = server.ask(ReserveJob{id});
  if (!taken.ok()) return taken.status();
  if (taken->is(Word::NotFound)) return why_not_taken(server, id);
  if (taken->is(Word::BadFormat) || taken->is(Word::UnknownCommand)) {
    return {StatusCode::NotFound,
            "the server does not know reserve-job: it is a beanstalkd before 1.12"};
  }
  if (!taken->is(Word::Reserved)) return unexpected(*taken, "reserve-job");
  return bury_reserved(server, *before,
                       static_cast<uint32_t>(priority.value_or(before->count("pri"))));
}

// perennial bury: buries ready and delayed jobs.
Status bury(const BuryOptions& options) {
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  if (options.priority.value_or(0) > u32_max)
    return {StatusCode::InvalidArgument, fmt::format("--pri is from 0 to {}", u32_max)};
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  EachJobReport report("bury", "buried", options.json);
  for (const JobId id : *ids) {
    Status buried = bury_one(*server, id, options.priority);
    if (buried.ok()) {
      report.succeeded(id);
      // NOT_FOUND is about this job, not about the server.
    } else if (buried.code() == StatusCode::NotFound) {
      report.failed(id, buried.message());
    } else {
      return report.finish(std::move(buried));
    }
  }
  return report.finish({});
}

}  // namespace

Subcommand bury_command() {
  const auto options = std::make_shared<BuryOptions>();
  return {
      .name = "bury",
      .summary = "Set ready or delayed jobs aside, so that no worker gets them",
      .about =
          "A buried job stays where it is until somebody kicks or deletes it: the way to take a "
          "job "
          "out of circulation that breaks every worker. It is reserved first, which counts as a "
          "reservation of it. A job that a worker has reserved can only be buried by that "
          "worker.\n\n"
          "Several ids are all tried; each that fails is a line on standard error, and the exit "
          "code is then 1.",
      .examples =
          "  perennial bury 4711\n"
          "  # And back:\n"
          "  perennial kick 4711\n",
      .flags = with_server_flags(
          options->server,
          {
              {"ID", "ID", "The numbers of the jobs", &options->ids, true},
              server_flag(options->server),
              {"--pri", "N", "A new priority; without it each keeps its own", &options->priority},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return bury(*options); },
  };
}

}  // namespace perennial::tool
