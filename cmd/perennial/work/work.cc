#include "cmd/perennial/work/work.h"

#include <memory>
#include <utility>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/work/dry_run.h"
#include "cmd/perennial/work/pool.h"
#include "cmd/perennial/work/program.h"

namespace perennial::tool {
namespace {

Flag time_flag(std::string name, std::string help, std::optional<std::chrono::seconds>& target,
               uint64_t lowest) {
  return {.name = std::move(name),
          .value = "DURATION",
          .help = std::move(help),
          .target = &target,
          .lowest = lowest};
}

std::vector<Flag> flags_of(WorkOptions& options) {
  constexpr uint64_t runners_max = 1000;
  return with_server_flags(
      options.server,
      {
          {"COMMAND", "COMMAND", "The command and its arguments, after '--'", &options.command,
           true},
          server_flag(options.server),
          {"--tube", "TUBE", "Take jobs of this tube; may be given several times", &options.tubes,
           true},
          {"--jobs",
           "N",
           "Run so many commands at a time",
           &options.jobs,
           false,
           {},
           1,
           runners_max},
          {"--grace", "DURATION", "What commands have to finish after SIGTERM or SIGINT",
           &options.grace},
          time_flag("--timeout", "Kill a command that runs for longer", options.timeout, 1),
          time_flag("--touch", "Touch each job so often; without, every third of its ttr",
                    options.touch, 1),
          {"--backoff", "FIRST[:CAP]",
           "Delay of a job that failed, doubled with each failure up to CAP", &options.backoff},
          {"--tries", "N", "Bury a job that failed so often; 0 never does", &options.tries},
          {"--bury-on", "STATUS,...", "Bury a job at once whose command exits with one of these",
           &options.bury_on},
          {"--max", "N", "End after so many jobs", &options.max, false, {}, 1, u32_max},
          {"--once", "", "End after one job", &options.once},
          {"--drain", "", "End when no job is ready", &options.drain},
          time_flag("--retry", "Give up when the server is away for so long; without, never",
                    options.retry, 0),
          {"--log",
           "FORMAT",
           "How lines on standard error look",
           &options.log,
           false,
           {"logfmt", "json"}},
          {"--no-notes", "", "Leave no note at a job that failed", &options.no_notes},
          {"--dry-run", "", "Print what would run, and reserve nothing", &options.dry_run},
      });
}

}  // namespace

Result<work::Settings> work_settings(const WorkOptions& options) {
  for (const std::string& tube : options.tubes)
    if (Status checked = check_tube_name(tube); !checked.ok()) return checked;
  if (options.command.empty() || options.command.front().empty())
    return Status(StatusCode::InvalidArgument, "no command: give it after '--'");
  if (options.once && options.max)
    return Status(StatusCode::InvalidArgument, "--once and --max exclude each other");
  const Result<work::Backoff> backoff = work::parse_backoff(options.backoff);
  if (!backoff.ok()) return backoff.status();
  Result<std::vector<int>> bury_on = work::parse_statuses(options.bury_on);
  if (!bury_on.ok()) return bury_on.take_status();
  return work::Settings{
      .server = options.server,
      .tubes = options.tubes,
      .command = options.command,
      .runners = options.jobs,
      .policy = {.backoff = *backoff, .tries_max = options.tries, .bury_on = bury_on.take()},
      .grace = options.grace,
      .timeout = options.timeout,
      .touch = options.touch,
      .retry = options.retry,
      .jobs_max = options.once ? std::optional<uint64_t>(1) : options.max,
      .drain = options.drain,
      .notes = !options.no_notes};
}

Result<int> run_worker(const WorkOptions& options) {
  const Result<work::Settings> settings = work_settings(options);
  if (!settings.ok()) return settings.status();
  if (const Status found = work::check_program(settings->command); !found.ok()) {
    complain("work", found.message());
    return work::status_of(found);
  }
  if (!options.dry_run) {
    return work::run_pool(*settings,
                          options.log == "json" ? work::LogFormat::Json : work::LogFormat::Logfmt);
  }
  const Status shown = work::dry_run(*settings);
  return shown.ok() ? Result<int>(common::exit_clean) : shown;
}

Subcommand work_command() {
  const auto options = std::make_shared<WorkOptions>();
  return {
      .name = "work",
      .summary = "Run a command for each job of some tubes",
      .about =
          "The command gets the body on standard input. '{}' in its arguments is replaced by the "
          "id of the job; no shell is involved. Its environment has PERENNIAL_JOB_ID, "
          "PERENNIAL_TUBE, PERENNIAL_ATTEMPT (1 on the first run), PERENNIAL_TTR (seconds), and "
          "PERENNIAL_SCHEDULE and PERENNIAL_PLANNED (the schedule that has put the job, and for "
          "which time; empty if none has). "
          "Where the server has users, a worker needs the rights consume and inspect. "
          "The job is touched while the command runs, so it may run for longer than the ttr.\n\n"
          "Exit status 0 deletes the job. Any other, or a death by a signal, releases it with a "
          "delay: FIRST after the first failure, doubled with each one up to CAP. --tries "
          "and --bury-on bury it instead. Each earlier release and timeout of the job counts as a "
          "failure, so a kicked job that fails again at --tries is buried again. Where the job or "
          "its "
          "tube has tries of its own, the server counts, too, and buries or moves the job at the "
          "last one.\n\n"
          "A command is killed when it runs for longer than --timeout, and when its job is lost: "
          "when the reservation is over, or the server is away. Another worker may have the job "
          "then. It gets SIGTERM, and SIGKILL after 5 seconds; its whole process group does.\n\n"
          "With --jobs above 1 the worker has one connection for all commands, and reserves the "
          "jobs for those that can run at once in one batch, never more. Statistics then count it "
          "as one worker. A server that cannot do "
          "that, such as a beanstalkd, gets a connection for each.\n\n"
          "SIGTERM and SIGINT end the worker: it reserves no more, and gives commands the grace "
          "time to finish. After that, or on a second signal, they are killed, and their jobs are "
          "released without delay; that does not count as an attempt where the server counts "
          "them. The exit code is 0 then. When the server is away the worker "
          "connects again, for as long as --retry allows, and then exits with 1. When the server "
          "refuses "
          "the worker's user, or its token, it exits with 2 at once.\n\n"
          "A command that cannot be started ends the worker before it takes a job, and also later, "
          "when its file has gone; the job that it may just have taken is given back. The exit "
          "code "
          "is that of a shell. "
          "A worker that is killed with SIGKILL cannot end its commands: the kernel kills them, "
          "but "
          "not what they have started.\n\n"
          "Each job that has ended is a line on standard error, with its outcome: deleted, "
          "released, buried or lost. What commands write goes where the worker's output goes.\n\n"
          "Where the server has the extension notes, a command that fails leaves a note at its "
          "job: "
          "what has happened, such as 'exit 3', and the last 2 KiB that it wrote to standard "
          "error. "
          "Everybody who may inspect the tube can read it, so a command must not write secrets "
          "there, or --no-notes must be given. Standard error of the command is a pipe to the "
          "worker then, which passes everything on; what the command has left running gets SIGPIPE "
          "when it writes there after the command has ended. With --no-notes, and on other "
          "servers, it is that of the worker. Only failures are noted: no job that was given back "
          "because the worker ends, and none that was lost.",
      .examples =
          "  perennial work --tube mail --jobs 4 -- ./send-mail\n"
          "  perennial work --tube mail --tries 5 --bury-on 65 --timeout 1m -- ./send-mail --id "
          "{}\n"
          "  # What is there now, then end:\n"
          "  perennial work --tube mail --drain -- sh -c 'cat >>mails.txt'\n",
      .flags = flags_of(*options),
      .run_to_exit_status = [options] { return run_worker(*options); },
      .exit_statuses = {{work::status_not_executable, "when the command cannot be executed"},
                        {work::status_not_found, "when the command does not exist"}},
  };
}

}  // namespace perennial::tool
