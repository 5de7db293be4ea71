#include "cmd/perennial/export/transfer.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/tool/progress.h"
#include "cmd/common/tool/quiet.h"
#include "cmd/common/tool/stop_signals.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/export/export_tube.h"
#include "cmd/perennial/export/not_kept.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr uint64_t window_jobs_max = 64;
// The limit of a window, in bytes of the largest bodies that the server allows.
constexpr uint64_t window_bytes_max = uint64_t{64} << 20;

struct Route {
  ServerConnection source;
  ServerConnection target;
  StatsReply stats;  // Of the source.
  bool target_reserves_by_id = true;
  bool source_counts_attempts = false;
  ExtensionSet target_allows;
  size_t window_jobs = 1;
};

// Sends reserve-job with id 0, which no job has. Before 1.12 the command is unknown or malformed.
Result<bool> knows_reserve_job(ServerConnection& server) {
  const Result<wire::ClientReply> reply = server.ask(ReserveJob{0});
  if (!reply.ok()) return reply.status();
  return reply->is(Word::NotFound);
}

Result<Route> open_route(const TransferOptions& options) {
  // The flag --timeout is that of both.
  ServerAddress from = options.from;
  ServerAddress to = options.to;
  from.timeout = to.timeout = from.timeout ? from.timeout : to.timeout;
  Result<ServerConnection> source = open_server(from);
  if (!source.ok()) return source.take_status();
  Result<ServerConnection> target = open_server(to);
  if (!target.ok()) return target.take_status();
  Result<StatsReply> here = ask_stats(*source, Stats{});
  if (!here.ok()) return here.status();
  const Result<StatsReply> there = ask_stats(*target, Stats{});
  if (!there.ok()) return there.status();
  if (here->text("id") && here->text("id") == there->text("id")) {
    return Status(StatusCode::InvalidArgument, fmt::format("{} and {} are the same server",
                                                           source->address(), target->address()));
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
  const Result<ExtensionSet> allowed_here = ask_extensions(*source);
  if (!allowed_here.ok()) return allowed_here.status();
  const uint64_t body_bytes_max = std::max<uint64_t>(here->count("max-job-size"), 1);
  return Route{
      .source = source.take(),
      .target = target.take(),
      .stats = here.take(),
      .target_reserves_by_id = *target_knows,
      .source_counts_attempts = allowed_here->allows(Extension::Attempts),
      .target_allows = *allowed,
      .window_jobs = std::clamp<uint64_t>(window_bytes_max / body_bytes_max, 1, window_jobs_max)};
}

ExportTally::States states_of(const StatsReply& tube) {
  return {.ready = tube.count("current-jobs-ready"),
          .delayed = tube.count("current-jobs-delayed"),
          .buried = tube.count("current-jobs-buried")};
}

bool is_wanted(const TransferOptions& options, const StatsReply& tube) {
  const uint64_t jobs = states_of(tube).total() + tube.count("current-jobs-reserved");
  if (jobs == 0) return false;
  return options.tubes.empty() ||
         std::ranges::find(options.tubes, tube.text("name")) != options.tubes.end();
}

// The requested tubes that have jobs.
Result<std::vector<StatsReply>> plan(const TransferOptions& options, ServerConnection& source) {
  Result<std::vector<StatsReply>> tubes = ask_all_tubes(source);
  if (!tubes.ok()) return tubes;
  for (const std::string& name : options.tubes) {
    const auto has_name = [&name](const StatsReply& tube) { return tube.text("name") == name; };
    if (std::ranges::none_of(*tubes, has_name))
      complain(options.command, fmt::format("there is no tube '{}' any more, or yet", name));
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

// The jobs of tubes that nobody has come to.
void leave(std::span<const StatsReply> tubes, ExportTally& tally) {
  for (const StatsReply& tube : tubes) {
    const uint64_t jobs = states_of(tube).total() + tube.count("current-jobs-reserved");
    if (jobs > 0) tally.left["not yet moved"] += jobs;
  }
}

Status move_all(Route& route, const std::vector<StatsReply>& tubes, bool drops_extras,
                ExportTally& tally) {
  StopSignals signals;
  Progress progress("jobs moved", foresee(tubes, route.target_reserves_by_id).moved.total());
  for (size_t at = 0; at < tubes.size(); ++at) {
    const StatsReply& tube = tubes[at];
    if (signals.stopped()) {
      tally.stopped = true;
      leave(std::span(tubes).subspan(at), tally);
      return {};
    }
    ExportTube move({.source = route.source,
                     .target = route.target,
                     .tube = std::string(*tube.text("name")),
                     .window_jobs = route.window_jobs,
                     .target_reserves_by_id = route.target_reserves_by_id,
                     .source_counts_attempts = route.source_counts_attempts,
                     .target_allows = route.target_allows,
                     .drops_extras = drops_extras,
                     .tally = tally,
                     .stopped = [&signals] { return signals.stopped(); },
                     .progress = [&] { progress.look(tally.moved.total()); }});
    if (Status moved = move.run(); !moved.ok()) {
      leave(std::span(tubes).subspan(at + 1), tally);
      return moved;
    }
    ++tally.tubes;
  }
  return {};
}

Status verdict(const TransferOptions& options, const ExportTally& tally) {
  if (tally.stopped) return {StatusCode::Io, "stopped by a signal; run it again to go on"};
  const uint64_t left = tally.left_total();
  if (left > 0) return {StatusCode::Io, fmt::format("{} jobs are left {}", left, options.left_at)};
  if (tally.possible_duplicates == 0) return {};
  return {StatusCode::Io,
          fmt::format("{} jobs are perhaps on both sides", tally.possible_duplicates)};
}

// What the target cannot keep, before anything is moved.
Result<NotKept> foresee_losses(Route& route, const std::vector<StatsReply>& tubes) {
  const Result<ExtensionSet> here = ask_extensions(route.source);
  if (!here.ok()) return here.status();
  return not_kept(*here, route.target_allows, route.stats, tubes);
}

// Schedules are no jobs.
void name_schedules(const TransferOptions& options, const StatsReply& stats) {
  const uint64_t schedules = stats.count("current-schedules");
  if (schedules == 0 || is_quiet()) return;
  complain(options.command,
           fmt::format("{} schedules stay {}, and go on to put jobs there; 'perennial schedule "
                       "export' and 'apply' move them",
                       with_commas(schedules), options.left_at));
}

}  // namespace

Status transfer(const TransferOptions& options) {
  for (const std::string& tube : options.tubes)
    if (Status checked = check_tube_name(tube); !checked.ok()) return checked;
  Result<Route> route = open_route(options);
  if (!route.ok()) return route.take_status();
  const Result<std::vector<StatsReply>> tubes = plan(options, route->source);
  if (!tubes.ok()) return tubes.status();
  const Result<NotKept> losses = foresee_losses(*route, *tubes);
  if (!losses.ok()) return losses.status();
  const std::string warning = losses->sentence(route->target.address(), options.drops_options);
  if (!warning.empty() && !is_quiet()) complain(options.command, warning);
  name_schedules(options, route->stats);
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
  return moved.ok() ? verdict(options, tally) : moved;
}

}  // namespace perennial::tool
