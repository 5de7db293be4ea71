#include <memory>
#include <string>
#include <vector>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/jobs/each_job.h"

namespace perennial::tool {
namespace {

struct DeleteOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
};

// perennial delete: deletes jobs by their ids.
Status delete_jobs(const DeleteOptions& options) {
  const Result<std::vector<JobId>> ids = parse_ids(options.ids);
  if (!ids.ok()) return ids.status();
  Result<ServerConnection> server = open_server(options.server);
  if (!server.ok()) return server.take_status();
  return run_on_each(*server, *ids,
                     {.subcommand = "delete",
                      .done = "deleted",
                      .command = [](JobId id) { return Delete{id}; },
                      .success = Word::Deleted,
                      .reason =
                          [](std::string_view /*state*/) {
                            return "a worker has it; only that worker can delete it, or anyone "
                                   "when its time is over "
                                   "('time-left' in 'perennial stats --job')";
                          }});
}

}  // namespace

Subcommand delete_command() {
  const auto options = std::make_shared<DeleteOptions>();
  return {
      .name = "delete",
      .summary = "Delete jobs by their ids",
      .about =
          "Ready, delayed and buried jobs, of any tube. A job that a worker has reserved cannot be "
          "deleted by anyone else. Several ids are all tried; each that fails is a line on "
          "standard error, and the exit code is then 1. There is no way back: 'perennial peek ID "
          "--body' saves the body first.",
      .examples =
          "  perennial delete 4711\n"
          "  perennial delete 4711 4712 4713 --server unix:/run/perennial.sock\n",
      .flags = with_server_flags(options->server,
                                 {
                                     {"ID", "ID", "The numbers of the jobs", &options->ids, true},
                                     server_flag(options->server),
                                 }),
      .run = [options] { return delete_jobs(*options); },
  };
}

}  // namespace perennial::tool
