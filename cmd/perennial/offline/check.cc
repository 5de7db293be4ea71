#include "store/offline/check.h"

#include <memory>
#include <optional>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/exit_codes.h"
#include "cmd/common/tool/progress.h"
#include "cmd/perennial/monitor/check_server.h"
#include "cmd/perennial/offline/advice.h"
#include "cmd/perennial/offline/commands.h"
#include "cmd/perennial/offline/salvage_report.h"
#include "cmd/perennial/output/output.h"
#include "wire/command_line.h"

namespace perennial::tool {
namespace {

using nlohmann::ordered_json;

ordered_json jobs_json(const store::CheckSummary& summary) {
  ordered_json out;
  for (const JobState state : store::job_states) {
    out[std::string(state_name(state))] = summary.jobs[static_cast<size_t>(state)];
  }
  return out;
}

void print_json(Output& out, const store::CheckSummary& summary, const ordered_json& faults,
                bool deep, const std::optional<Advice>& advice) {
  ordered_json report = {{"ok", summary.faults == 0},
                         {"deep", deep},
                         {"jobs", jobs_json(summary)},
                         {"bodies", summary.bodies},
                         {"body_bytes", summary.body_bytes},
                         {"tubes", summary.tubes},
                         {"pauses", summary.pauses},
                         {"settings", summary.settings},
                         {"keys", summary.keys},
                         {"notes", summary.notes},
                         {"ended", summary.ended},
                         {"schedules", summary.schedules},
                         {"tables", summary.tables},
                         {"fault_count", summary.faults},
                         {"faults", faults}};
  if (advice) report["advice"] = advice_json(*advice, absl::GetCurrentTimeNanos());
  out.add(report.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void print_fault(Output& out, const store::Fault& fault) {
  out.add(fault.where);
  if (!fault.key.empty()) out.add(" " + fault.key);
  out.add(": " + fault.what + "\n");
}

void print_summary(Output& out, const store::CheckSummary& summary, uint64_t shown) {
  if (shown < summary.faults) {
    out.add(fmt::format("and {} faults more: --limit shows them\n", summary.faults - shown));
  }
  for (const JobState state : store::job_states) {
    out.add(fmt::format("{:<20}{}\n", fmt::format("jobs {}", state_name(state)),
                        summary.jobs[static_cast<size_t>(state)]));
  }
  out.add(
      fmt::format("bodies              {}\nbytes of bodies     {}\ntubes               {}\n"
                  "pauses              {}\nsettings of tubes   {}\nkeys                {}\n"
                  "notes               {}\nended jobs          {}\nschedules           {}\n"
                  "table files         {}\nfaults              {}\n",
                  summary.bodies, summary.body_bytes, summary.tubes, summary.pauses,
                  summary.settings, summary.keys, summary.notes, summary.ended, summary.schedules,
                  summary.tables, summary.faults));
}

// What is lost, and in the last line the one command to type.
void print_advice(Output& out, const Advice& advice) {
  if (advice.salvaged) {
    for (const std::string& line : damage_lines(*advice.salvaged)) out.add(line + "\n");
  }
  out.add(advice.line());
}

}  // namespace

Status check(const CheckOptions& options, int fd) {
  Output out(fd);
  Progress progress("jobs checked", 0);
  ordered_json faults = ordered_json::array();
  uint64_t shown = 0;
  const Result<store::CheckSummary> summary = store::check_directory(
      {.path = options.data_dir,
       .deep = options.deep,
       .fault =
           [&](const store::Fault& fault) {
             if (shown == options.limit) return;
             ++shown;
             if (!options.json) return print_fault(out, fault);
             faults.push_back({{"family", fault.where}, {"key", fault.key}, {"what", fault.what}});
           },
       .is_tube_name = wire::is_tube_name,
       .progress = [&](uint64_t jobs) { progress.look(jobs); }});
  if (!summary.ok()) return summary.status();
  std::optional<Advice> advice;
  if (summary->faults > 0) advice = advise(options.data_dir, *summary, absl::GetCurrentTimeNanos());
  options.json ? print_json(out, *summary, faults, options.deep, advice)
               : print_summary(out, *summary, shown);
  if (!options.json && advice) print_advice(out, *advice);
  if (Status finished = out.finish(); !finished.ok()) return finished;
  if (summary->faults == 0) return {};
  return {StatusCode::Corruption,
          fmt::format("{} faults in {}", summary->faults, options.data_dir)};
}

namespace {

struct CheckCommand {
  CheckOptions directory = {};
  CheckServerOptions server = {};
};

// One of the two, and nothing that is only the other's.
Status check_usage(const CheckCommand& command) {
  const bool of_server = !command.server.server.address.empty();
  if (of_server != command.directory.data_dir.empty()) {
    return {StatusCode::InvalidArgument,
            "--data-dir DIR, for the files of a server that is stopped, or --server ADDR, for one "
            "that runs"};
  }
  if (of_server && command.directory.deep)
    return {StatusCode::InvalidArgument, "--deep is for --data-dir"};
  if (of_server || !command.server.has_limits()) return {};
  return {StatusCode::InvalidArgument, "limits and --tube are for --server"};
}

Result<int> run_check(CheckCommand& command) {
  if (Status usage = check_usage(command); !usage.ok()) return usage;
  ignore_closed_pipes();
  command.server.json = command.directory.json;
  if (!command.server.server.address.empty()) return check_server(command.server);
  if (Status checked = check(command.directory); !checked.ok()) return checked;
  return common::exit_clean;
}

}  // namespace

Subcommand check_command() {
  const auto command = std::make_shared<CheckCommand>();
  CheckOptions& directory = command->directory;
  return {
      .name = "check",
      .summary = "Look for damage in a data directory, or ask a running server whether it is well",
      .about =
          "Two commands: with --data-dir it reads the files of a server that is stopped, and with "
          "--server it asks one that runs, for a monitor. A server that runs knows only of damage "
          "that it has met; --data-dir with a checkpoint finds the rest.\n\n"
          "--data-dir reads all of a data directory that no server uses, or of a checkpoint, and "
          "changes nothing in it. Every fault is a line, \"family key: what\", with the key in "
          "hexadecimal (a job's is its id). It goes on behind each fault.\n\n"
          "It looks for rows that do not decode, jobs in two states, jobs without a body and "
          "bodies without a job, bodies of another size than their job says, ids that are not "
          "below "
          "the next one, tubes that are missing or there twice, pauses without a tube, invalid "
          "settings, keys of jobs (idp) that their jobs do not hold, jobs without their key, notes "
          "that their jobs do not count, and the other way round, rows of an unknown kind, table "
          "files whose checksums or counts are wrong, and a log that a start would refuse. With "
          "--deep it also holds each body against its hash, and the tables with "
          "bodies against their checksums.\n\n"
          "If there are faults, the last line is the one command to type, which loses least: to "
          "start "
          "the server, which contains damage of bodies; perennial repair or dump, with the numbers "
          "of "
          "jobs that it keeps and loses; or perennial restore, with the age of the newest "
          "checkpoint "
          "that is whole and what it lacks. Exit code 0: no fault. 1: there are some, or the "
          "directory cannot be read.\n\n"
          "--server follows the rules of Nagios's plugins, which Icinga, Zabbix, Sensu and others "
          "take, too: one line, with values for graphs behind '|', and exit code 0 for OK, 1 for "
          "WARNING, 2 for CRITICAL and 3 for UNKNOWN. CRITICAL: the server cannot be reached or "
          "does not answer within 8 seconds or --timeout, or its store-state is not 'ok', as on a "
          "full disk. "
          "WARNING: it is draining, or has met damaged jobs since its start. UNKNOWN: a limit is "
          "none, the server refuses the token or the question, or does not know a value that has a "
          "limit: a beanstalkd counts neither ages nor checkpoints. Further limits are given as "
          "WARN,CRIT, or WARN, or ,CRIT: a value above WARN is WARNING, and one above CRIT is "
          "CRITICAL. Times are such as 90s, 15m, 1h or 2d. Limits of jobs hold for each tube, and "
          "the line names the worst. A tube that is not there has no jobs. How far standbys of a "
          "cluster are behind is in perennial cluster status.",
      .examples =
          "  perennial check --data-dir /var/lib/perennial\n"
          "  # Before a checkpoint is trusted.\n"
          "  perennial check --deep --data-dir /var/lib/perennial/checkpoints/NAME\n"
          "  # For a monitor.\n"
          "  perennial check --server localhost:11300 --oldest 60s,10m --buried 0,100\n"
          "  perennial check --server @prod --tube mail --ready 1000,10000 --checkpoint-age "
          "2h,26h\n",
      .flags = with_check_server_flags(
          command->server,
          {
              {"--data-dir", "DIR", "The data directory, or a checkpoint", &directory.data_dir},
              {"--deep", "", "With --data-dir: also hash every body", &directory.deep},
              {"--limit", "COUNT", "With --data-dir: show so many faults; all are counted",
               &directory.limit},
              {"--json", "", "Report as JSON", &directory.json},
          }),
      .run_to_exit_status = [command] { return run_check(*command); },
      .exit_statuses = {{1, "with --server when it is WARNING"},
                        {2, "when it is CRITICAL"},
                        {3, "when it is UNKNOWN"}},
  };
}

}  // namespace perennial::tool
