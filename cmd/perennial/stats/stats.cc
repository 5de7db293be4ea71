#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/stats/commands.h"
#include "cmd/perennial/stats/disk_use.h"
#include "cmd/perennial/stats/stats_table.h"

namespace perennial::tool {
namespace {

struct StatsOptions {
  ServerAddress server = {};
  std::string tube;             // Statistics of this tube instead of the server.
  std::optional<uint64_t> job;  // Statistics of this job instead of the server.
  bool disk = false;            // What takes the disk of a data directory instead.
  std::string data_dir;
  bool json = false;
};

Status check(const StatsOptions& options) {
  if (options.disk != !options.data_dir.empty()) {
    return {StatusCode::InvalidArgument,
            "--disk and --data-dir DIR go together: the protocol does not say what takes the disk"};
  }
  if (options.disk && (!options.tube.empty() || options.job))
    return {StatusCode::InvalidArgument, "--disk is of a whole data directory"};
  if (!options.tube.empty() && options.job)
    return {StatusCode::InvalidArgument, "--tube and --job exclude each other"};
  return options.tube.empty() ? Status() : check_tube_name(options.tube);
}

Command question(const StatsOptions& options) {
  if (options.job) return StatsJob{*options.job};
  if (!options.tube.empty()) return StatsTube{options.tube};
  return Stats{};
}

std::string table(const StatsOptions& options, const StatsReply& reply) {
  if (options.job) return job_table(reply);
  return options.tube.empty() ? server_table(reply) : tube_table(reply);
}

Status not_there(const StatsOptions& options, const std::string& server) {
  const std::string what =
      options.job ? fmt::format("job {}", *options.job) : fmt::format("tube '{}'", options.tube);
  return {StatusCode::NotFound, fmt::format("there is no {} at {}", what, server)};
}

Status disk_stats(const StatsOptions& options) {
  const Result<DiskUse> use = read_disk_use(options.data_dir);
  if (!use.ok()) return use.status();
  std::fputs((options.json ? disk_json(*use) : disk_table(*use)).c_str(), stdout);
  return {};
}

// perennial stats: prints the statistics of a running server, a tube or a job.
Status stats(const StatsOptions& options) {
  if (Status checked = check(options); !checked.ok()) return checked;
  if (options.disk) return disk_stats(options);
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  Result<StatsReply> reply = ask_stats(*server, question(options));
  if (!reply.ok())
    return reply.status().code() == StatusCode::NotFound ? not_there(options, server->address())
                                                         : reply.take_status();
  std::fputs((options.json ? to_json(*reply) + "\n" : table(options, *reply)).c_str(), stdout);
  return {};
}

}  // namespace

Subcommand stats_command() {
  const auto options = std::make_shared<StatsOptions>();
  return {
      .name = "stats",
      .summary = "Show what a running server says of itself, of a tube or of a job",
      .about =
          "Jobs by state, commands since the start, connections, the state of the store, and the "
          "process. Works with beanstalkd, too; what a server does not know is not shown.\n\n"
          "What to look at first: 'state' under 'store' is 'ok' unless the disk is nearly full and "
          "puts are refused; 'draining' is 'true' when somebody has asked the server to take no "
          "more jobs; a 'damaged' above 0 counts bodies that could not be read.\n\n"
          "With --disk it says what takes the disk of a data directory, whether its server runs or "
          "not: tables (jobs, bodies and keys), log, checkpoints, ballast, and what was set aside "
          "and nobody reads any more. Blocks count as they are allocated, and a file of several "
          "names counts once, the database first: 'shared' is what a checkpoint has together with "
          "the database, and costs nothing until the database drops it. Checkpoints in another "
          "checkpoint_dir are not looked at. For a disk that fills up: perennial checkpoint prune, "
          "and etc/docs/limits.md, \"A full disk\".\n\n"
          "With --json every key is there, as the protocol names it.",
      .examples =
          "  perennial stats\n"
          "  perennial stats --tube mail\n"
          "  perennial stats --job 4711 --server unix:/run/perennial.sock\n"
          "  perennial stats --disk --data-dir /var/lib/perennial\n"
          "  perennial stats --json | jq '.\"current-jobs-buried\"'\n",
      .flags = with_server_flags(
          options->server,
          {
              server_flag(options->server),
              {"--tube", "TUBE", "Of this tube", &options->tube},
              {"--job", "ID", "Of this job", &options->job},
              {"--disk", "", "What takes the disk: with --data-dir", &options->disk},
              {"--data-dir", "DIR", "With --disk: the data directory", &options->data_dir},
              {"--json", "", "All keys, as JSON", &options->json},
          }),
      .run = [options] { return stats(*options); },
  };
}

}  // namespace perennial::tool
