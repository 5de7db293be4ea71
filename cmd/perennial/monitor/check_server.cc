#include "cmd/perennial/monitor/check_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/duration.h"
#include "cmd/common/tool/colours.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/monitor/time_limit.h"
#include "cmd/perennial/monitor/verdict.h"

namespace perennial::tool {
namespace {

// Monitors stop a plugin that takes longer than ten seconds or a minute.
constexpr std::chrono::milliseconds silence_max = std::chrono::seconds(8);

Status read_limits(const CheckServerOptions& options, Limits& limits) {
  struct Row {
    const char* flag;
    const std::optional<std::string>& text;
    std::optional<Thresholds>& target;
    Result<Thresholds> (*parse)(std::string_view);
  };
  const Row rows[] = {
      {"--oldest", options.oldest, limits.oldest, parse_time_thresholds},
      {"--ready", options.ready, limits.ready, parse_count_thresholds},
      {"--buried", options.buried, limits.buried, parse_count_thresholds},
      {"--dead", options.dead, limits.dead, parse_count_thresholds},
      {"--damaged", options.damaged, limits.damaged, parse_count_thresholds},
      {"--checkpoint-age", options.checkpoint_age, limits.checkpoint_age, parse_time_thresholds},
      {"--disk-free", options.disk_free, limits.disk_free, parse_low_bytes_thresholds},
      {"--standby-lag", options.standby_lag, limits.standby_lag, parse_count_thresholds},
  };
  for (const Row& row : rows) {
    if (!row.text) continue;
    Result<Thresholds> parsed = row.parse(*row.text);
    if (!parsed.ok()) return parsed.take_status().with(row.flag);
    row.target = *parsed;
  }
  return {};
}

// A server that is not there is CRITICAL, because that is what a monitor is for. What a person has
// to write otherwise is UNKNOWN.
ServerHealth of_failure(const Status& status) {
  const bool is_theirs =
      status.code() == StatusCode::InvalidArgument || status.code() == StatusCode::Unsupported;
  return no_verdict(is_theirs ? Level::Unknown : Level::Critical, status.message());
}

// A reply that is no statistics: the user has no right to them, or that is another program.
Status not_understood(const wire::ClientReply& reply) {
  return {StatusCode::Unsupported, unexpected(reply, "statistics").message()};
}

Result<StatsReply> ask_one(ServerConnection& server, const Command& command) {
  const Result<wire::ClientReply> reply = server.ask(command);
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::NotFound)) return Status(StatusCode::NotFound, "NOT_FOUND");
  if (!reply->is(Word::Ok)) return not_understood(*reply);
  return StatsReply::parse(reply->text);
}

Result<std::vector<StatsReply>> ask_tubes(ServerConnection& server,
                                          const std::vector<std::string>& names) {
  if (names.empty()) return ask_all_tubes(server);
  std::vector<StatsReply> tubes;
  for (const std::string& name : names) {
    Result<StatsReply> tube = ask_one(server, StatsTube{name});
    if (tube.ok()) {
      tubes.push_back(tube.take());
    } else if (tube.status().code() != StatusCode::NotFound) {
      return tube.status();
    }
  }
  return tubes;
}

ServerHealth check_at(const CheckServerOptions& options, const Limits& limits) {
  ServerAddress address = options.server;
  if (!address.timeout) address.timeout = silence_max;
  Result<ServerConnection> server = open_server(address);
  if (!server.ok()) return of_failure(server.status());
  const Result<StatsReply> stats = ask_one(*server, Stats{});
  if (!stats.ok()) return of_failure(stats.status());
  const Result<std::vector<StatsReply>> tubes = ask_tubes(*server, options.tubes);
  if (!tubes.ok()) return of_failure(tubes.status());
  return judge(*stats, *tubes, options.tubes, limits);
}

std::string text_of(const CheckServerOptions& options, const ServerHealth& verdict) {
  if (options.json) return verdict_json(verdict, options.server.address);
  const std::string line = verdict_line(verdict);
  constexpr std::array<Colour, 4> colours = {Colour::Green, Colour::Yellow, Colour::Red,
                                             Colour::Yellow};
  const size_t end = std::min(line.find(" - "), line.size());
  return coloured(line.substr(0, end), colours[static_cast<size_t>(verdict.level)], STDOUT_FILENO) +
         line.substr(end);
}

// A monitor ends a plugin that takes too long, and shows nothing of it.
void limit_all(const CheckServerOptions& options) {
  const std::chrono::milliseconds limit = options.server.timeout.value_or(silence_max);
  const std::string why = fmt::format("{}: no whole answer within {}", options.server.address,
                                      common::format_duration(limit));
  end_after(limit, {.fd = STDOUT_FILENO,
                    .text = text_of(options, no_verdict(Level::Critical, why)),
                    .exit_code = static_cast<int>(Level::Critical)});
}

ServerHealth verdict_of(const CheckServerOptions& options) {
  Limits limits;
  Status usage = read_limits(options, limits);
  for (const std::string& tube : options.tubes)
    if (usage.ok()) usage = check_tube_name(tube);
  return usage.ok() ? check_at(options, limits) : of_failure(usage);
}

}  // namespace

bool CheckServerOptions::has_limits() const {
  return !tubes.empty() || oldest || ready || buried || dead || damaged || checkpoint_age ||
         disk_free || standby_lag;
}

std::vector<Flag> with_check_server_flags(CheckServerOptions& options, std::vector<Flag> flags) {
  const std::string warn_crit = "WARN,CRIT";
  const Flag own[] = {
      {"--server", "ADDR",
       "Instead of a directory: a running server, HOST:PORT, unix:PATH or @NAME",
       &options.server.address},
      {"--tube", "TUBE", "With --server: only this tube; may be given several times",
       &options.tubes},
      {"--oldest", warn_crit, "With --server: for how long a job of a tube may be ready",
       &options.oldest},
      {"--ready", warn_crit, "With --server: so many jobs of a tube may be ready", &options.ready},
      {"--buried", warn_crit, "With --server: so many jobs of a tube may be buried",
       &options.buried},
      {"--dead", warn_crit,
       "With --server: so many jobs of a tube may have died since the server's start",
       &options.dead},
      {"--damaged", warn_crit,
       "With --server: so many jobs may have been damaged; without it none, or it is WARNING",
       &options.damaged},
      {"--checkpoint-age", warn_crit, "With --server: how old the newest checkpoint may be",
       &options.checkpoint_age},
      {"--disk-free", warn_crit, "With --server: so much of the disk has to be free, as 20GiB,5GiB",
       &options.disk_free},
      {"--standby-lag", warn_crit,
       "With --server: so many entries of the log may a standby be behind; none is WARNING",
       &options.standby_lag},
  };
  flags.insert(flags.end(), std::begin(own), std::end(own));
  return with_server_flags(options.server, std::move(flags));
}

int check_server(const CheckServerOptions& options) {
  limit_all(options);
  const ServerHealth verdict = verdict_of(options);
  in_time();
  std::fputs(text_of(options, verdict).c_str(), stdout);
  return static_cast<int>(verdict.level);
}

}  // namespace perennial::tool
