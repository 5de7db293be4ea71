#include <memory>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/export/commands.h"
#include "cmd/perennial/export/transfer.h"

namespace perennial::tool {

Subcommand export_beanstalkd_command() {
  const auto options = std::make_shared<TransferOptions>(
      TransferOptions{.command = "export-beanstalkd", .left_at = "here"});
  // The token is the source's. A beanstalkd has none, and would only learn it.
  options->to.gets_token = false;
  options->to.address.clear();
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
          "attempts, notes, keys of jobs that are gone, and how long a key is held if that is not "
          "until the job is "
          "deleted.\n\n"
          "Jobs that a worker has reserved are left here, and those that the other server refuses, "
          "or whose options it does not know, if you do not say --drop-options; "
          "the table says how many and why, and the exit code is then 1. What the other server "
          "does "
          "not know is said before anything is moved. Buried jobs need a "
          "beanstalkd of at least 1.12 there. The other server is shown no token. Stop producers "
          "and workers first, or run it again "
          "until nothing is left.",
      .examples =
          "  perennial export-beanstalkd --to other:11300 --dry-run\n"
          "  perennial export-beanstalkd --to other:11300\n"
          "  perennial export-beanstalkd --to other:11300 --tube mail --tube invoices\n",
      .flags = with_server_flags(
          options->from,
          {
              server_flag(options->from),
              {"--to", "ADDR", "The server that gets them: HOST:PORT or unix:PATH",
               &options->to.address, true},
              {"--tube", "TUBE", "Only this tube; may be given several times", &options->tubes},
              {"--drop-options", "",
               "Move jobs with options that the other server does not know, "
               "without them",
               &options->drops_options},
              {"--dry-run", "", "Count and report, and move nothing", &options->dry_run},
              {"--json", "", "Report as JSON", &options->json},
          }),
      .run = [options] { return transfer(*options); },
  };
}

}  // namespace perennial::tool
