#include <memory>

#include "cmd/common/tool/named_servers.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/export/commands.h"
#include "cmd/perennial/export/transfer.h"

namespace perennial::tool {
namespace {

// The token on the command line or in the environment is that of the server that gets the jobs. The
// old one is shown only what servers.yaml has for it.
Status copy(TransferOptions options) {
  const Result<ServerAddress> old = resolve_server(options.from);
  if (!old.ok()) return old.status();
  options.from = *old;
  options.from.gets_token = !old->token_file.empty();
  return transfer(options);
}

}  // namespace

Subcommand copy_command() {
  const auto options = std::make_shared<TransferOptions>(
      TransferOptions{.command = "copy", .left_at = "at the old server"});
  options->from.address.clear();
  options->to.address.clear();
  return {
      .name = "copy",
      .summary = "Move jobs in, from a running beanstalkd or any server that speaks its protocol",
      .about =
          "The way in without a stop: over the protocol, while both servers run. A job is put at "
          "the new server, and only when that has answered, which a Perennial does when the job is "
          "on disk, it is deleted at the old one, 64 jobs at a time. Ctrl-C or SIGTERM finishes "
          "what is on its way and ends; run it again to go on. If it or a server is killed, no job "
          "is lost; at most 64 are on both sides, so that workers may do these twice, and delayed "
          "or buried ones among them may be ready at the old server.\n\n"
          "Kept: tube, priority, ttr, body, what is left of a delay (rounded up to a second), the "
          "buried state, pauses of tubes with jobs, and the order of ready and of buried jobs. "
          "From another Perennial also the options of jobs and the settings of tubes. Not kept: "
          "ids, ages, counters and attempts, notes, keys of jobs that are gone, and how long a key "
          "is held. A tube that keeps what ends keeps the jobs that have moved away, as deleted. "
          "perennial dump and load take notes along. perennial import-binlog keeps ids, ages and "
          "counters; it needs beanstalkd to be "
          "stopped, and its -b. Schedules of another Perennial stay there, and go on to put jobs: "
          "perennial schedule export.\n\n"
          "First start workers at the new server, too, and then move the producers there; those "
          "workers that are still at the old server go on. What is left there is copied. Jobs that "
          "a worker has reserved stay there, and so do those that the new server refuses, or whose "
          "key another job has there; the table says how many and why, and the exit code is then "
          "1. Run it again until nothing is left. In the table and in messages 'the other server' "
          "is the one of --to.\n\n"
          "A beanstalkd before 1.12 does not know reserve-job, and is refused: perennial "
          "import-binlog. The token and the flags of TLS are for --to; the old server takes its "
          "own from servers.yaml, as --from @NAME.",
      .examples =
          "  perennial copy --from old:11300 --to localhost:11301 --dry-run\n"
          "  perennial copy --from old:11300 --to localhost:11301\n"
          "  perennial copy --from old:11300 --to @prod --tube mail --tube invoices\n",
      .flags = with_server_flags(
          options->to,
          {
              {"--from", "ADDR", "The server that is left: HOST:PORT, unix:PATH, or @NAME",
               &options->from.address, true},
              {"--to", "ADDR", "The server that gets the jobs: HOST:PORT, unix:PATH, or @NAME",
               &options->to.address, true},
              {"--tube", "TUBE", "Only this tube; may be given several times", &options->tubes},
              {"--drop-options", "",
               "Move jobs with options that the new server does not allow, without them",
               &options->drops_options},
              {"--dry-run", "", "Count and report, and move nothing", &options->dry_run},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return copy(*options); },
  };
}

}  // namespace perennial::tool
