#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/tool/progress.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/export/commands.h"
#include "cmd/perennial/export/export_tube.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

struct ExportOptions {
  ServerAddress server = {};
  std::string to;
  std::vector<std::string> tubes;  // Empty: all tubes.
  bool drops_options = false;      // Move also jobs that lose options by it.
  bool dry_run = false;
  bool json = false;
};

constexpr uint64_t window_jobs_max = 64;
// The limit of a window, in bytes of the largest bodies that the server allows.
constexpr uint64_t window_bytes_max = uint64_t{64} << 20;

struct Route {
  ServerConnection source;
  ServerConnection target;
  bool target_reserves_by_id = true;
  ExtensionSet target_allows;
  size_t window_jobs = 1;
};

// Sends reserve-job with id 0, which no job has. Before 1.12 the command is unknown or malformed.
Result<bool> knows_reserve_job(ServerConnection& server) {
  const Result<wire::ClientReply> reply = server.ask(ReserveJob{0});
  if (!reply.ok()) return reply.status();
  return reply->is(Word::NotFound);
}

Result<Route> open_route(const ExportOptions& options) {
  Result<ServerConnection> source = open_server(options.server);
  if (!source.ok()) return source.take_status();
  // The token is the source's. A beanstalkd has none, and would only learn it.
  ServerAddress to = options.to;
  to.gets_token = false;
  to.timeout = options.server.timeout;
  Result<ServerConnection> target = open_server(to);
  if (!target.ok()) return target.take_status();
  const Result<StatsReply> here = ask_stats(*source, Stats{});
  if (!here.ok()) return here.status();
  const Result<StatsReply> there = ask_stats(*target, Stats{});
  if (!there.ok()) return there.status();
  if (here->text("id") && here->text("id") == there->text("id")) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("{} and {} are the same server", source->address(), options.to));
  }
  const Result<bool> source_knows = knows_reserve_job(*source);
  if (!source_knows.ok()) return source_knows.status();
  if (!*source_knows) {
    return Status(StatusCode::Unsupported,
                  source->address() + " does not know reserve-job: it is a beanstalkd before 1.12");
  }
  const Result<bool> target_knows = knows_reserve_job(*target);
  if (!target_knows.ok()) return target_knows.status();
  const Result<ExtensionSet> allowed = ask_extensions(*target);
  if (!allowed.ok()) return allowed.status();
  const uint64_t body_bytes_max = std::max<uint64_t>(here->count("max-job-size"), 1);
  return Route{
      .source = source.take(),
      .target = target.take(),
      .target_reserves_by_id = *target_knows,
      .target_allows = *allowed,
      .window_jobs = std::clamp<uint64_t>(window_bytes_max / body_bytes_max, 1, window_jobs_max)};
}

ExportTally::States states_of(const StatsReply& tube) {
  return {.ready = tube.count("current-jobs-ready"),
          .delayed = tube.count("current-jobs-delayed"),
          .buried = tube.count("current-jobs-buried")};
}

bool is_wanted(const ExportOptions& options, const StatsReply& tube) {
  const uint64_t jobs = states_of(tube).total() + tube.count("current-jobs-reserved");
  if (jobs == 0) return false;
  return options.tubes.empty() ||
         std::ranges::find(options.tubes, tube.text("name")) != options.tubes.end();
}

// The requested tubes that have jobs.
Result<std::vector<StatsReply>> plan(const ExportOptions& options, ServerConnection& source) {
  Result<std::vector<StatsReply>> tubes = ask_all_tubes(source);
  if (!tubes.ok()) return tubes;
  for (const std::string& name : options.tubes) {
    const auto has_name = [&name](const StatsReply& tube) { return tube.text("name") == name; };
    if (std::ranges::none_of(*tubes, has_name))
      complain("export-beanstalkd", fmt::format("there is no tube '{}' any more, or yet", name));
  }
  std::erase_if(*tubes, [&](const StatsReply& tube) { return !is_wanted(options, tube); });
  return tubes;
}

ExportTally foresee(const std::vector<StatsReply>& tubes, bool target_reserves_by_id) {
  ExportTally tally;
  tally.tubes = tubes.size();
  for (const StatsReply& tube : tubes) {
    const ExportTally::States states = states_of(tube);
    tally.moved.ready += states.ready;
    tally.moved.delayed += states.delayed;
    tally.moved.buried += states.buried;
    const uint64_t reserved = tube.count("current-jobs-reserved");
    if (reserved > 0) tally.left["reserved by a worker"] += reserved;
  }
  if (target_reserves_by_id || tally.moved.buried == 0) return tally;
  tally.left["buried, and the other server is too old to bury them"] = tally.moved.buried;
  tally.moved.buried = 0;
  return tally;
}

Status move_all(Route& route, const std::vector<StatsReply>& tubes, bool drops_extras,
                ExportTally& tally) {
  StopSignals signals;
  Progress progress("jobs moved", foresee(tubes, route.target_reserves_by_id).moved.total());
  for (const StatsReply& tube : tubes) {
    if (signals.stopped()) {
      tally.stopped = true;
      return {};
    }
    ExportTube move({.source = route.source,
                     .target = route.target,
                     .tube = std::string(*tube.text("name")),
                     .window_jobs = route.window_jobs,
                     .target_reserves_by_id = route.target_reserves_by_id,
                     .target_allows = route.target_allows,
                     .drops_extras = drops_extras,
                     .tally = tally,
                     .stopped = [&signals] { return signals.stopped(); },
                     .progress = [&] { progress.look(tally.moved.total()); }});
    if (Status moved = move.run(); !moved.ok()) return moved;
    ++tally.tubes;
  }
  return {};
}

Status verdict(const ExportTally& tally) {
  if (tally.stopped) return {StatusCode::Io, "stopped by a signal; run it again to go on"};
  const uint64_t left = tally.left_total();
  if (left > 0) return {StatusCode::Io, fmt::format("{} jobs are left here", left)};
  if (tally.possible_duplicates == 0) return {};
  return {StatusCode::Io,
          fmt::format("{} jobs are perhaps on both sides", tally.possible_duplicates)};
}

// perennial export-beanstalkd: moves jobs to any server that speaks the protocol. Prints what was
// moved and what was left, and fails if anything was left.
Status export_beanstalkd(const ExportOptions& options) {
  for (const std::string& tube : options.tubes)
    if (Status checked = check_tube_name(tube); !checked.ok()) return checked;
  Result<Route> route = open_route(options);
  if (!route.ok()) return route.take_status();
  const Result<std::vector<StatsReply>> tubes = plan(options, route->source);
  if (!tubes.ok()) return tubes.status();
  ExportTally tally;
  Status moved;
  if (options.dry_run) {
    tally = foresee(*tubes, route->target_reserves_by_id);
  } else {
    moved = move_all(*route, *tubes, options.drops_options, tally);
  }
  const bool dry_run = options.dry_run;
  std::fputs((options.json ? tally_json(tally, dry_run) : tally_table(tally, dry_run)).c_str(),
             stdout);
  if (dry_run) return {};
  return moved.ok() ? verdict(tally) : moved;
}

}  // namespace

Subcommand export_beanstalkd_command() {
  const auto options = std::make_shared<ExportOptions>();
  return {
      .name = "export-beanstalkd",
      .summary = "Move jobs out, to a beanstalkd or any server that speaks its protocol",
      .about =
          "The way out: over the protocol, while both servers run. A job is put there, confirmed, "
          "and only then deleted here, 64 at a time. Ctrl-C or SIGTERM finishes what is on its way "
          "and ends; run it again to go on. If it or a server is killed, no job is lost; at most "
          "64 are on both sides, and delayed or buried ones among them may be ready here.\n\n"
          "Kept: tube, priority, ttr, body, what is left of a delay (rounded up to a second), the "
          "buried state, pauses of tubes with jobs, and the order of ready and of buried jobs. To "
          "another Perennial also the options of jobs (--tries, --backoff, --dead, --expire, --idp "
          "and --con of put) and the settings of tubes. Not kept: ids, ages, counters and "
          "attempts, "
          "keys of jobs that are gone, and how long a key is held if that is not until the job is "
          "deleted.\n\n"
          "Jobs that a worker has reserved are left here, and those that the other server refuses, "
          "or whose options it does not know, if you do not say --drop-options; "
          "the table says how many and why, and the exit code is then 1. Buried jobs need a "
          "beanstalkd of at least 1.12 there. The other server is shown no token. Stop producers "
          "and workers first, or run it again "
          "until nothing is left.",
      .examples =
          "  perennial export-beanstalkd --to other:11300 --dry-run\n"
          "  perennial export-beanstalkd --to other:11300\n"
          "  perennial export-beanstalkd --to other:11300 --tube mail --tube invoices\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--to", "ADDR", "The server that gets them: HOST:PORT or unix:PATH", &options->to,
               true},
              {"--tube", "TUBE", "Only this tube; may be given several times", &options->tubes},
              {"--drop-options", "",
               "Move jobs with options that the other server does not know, "
               "without them",
               &options->drops_options},
              {"--dry-run", "", "Count and report, and move nothing", &options->dry_run},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return export_beanstalkd(*options); },
  };
}

}  // namespace perennial::tool
