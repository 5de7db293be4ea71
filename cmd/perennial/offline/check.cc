#include "store/offline/check.h"

#include <memory>
#include <optional>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/tool/progress.h"
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
                  "table files         {}\nfaults              {}\n",
                  summary.bodies, summary.body_bytes, summary.tubes, summary.pauses,
                  summary.settings, summary.keys, summary.tables, summary.faults));
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

Subcommand check_command() {
  const auto options = std::make_shared<CheckOptions>();
  return {
      .name = "check",
      .summary = "Look for damage in a data directory or a checkpoint",
      .about =
          "Reads all of a data directory that no server uses, or of a checkpoint, and changes "
          "nothing in it. Every fault is a line, \"family key: what\", with the key in hexadecimal "
          "(a job's is its id). It goes on behind each fault.\n\n"
          "It looks for rows that do not decode, jobs in two states, jobs without a body and "
          "bodies without a job, bodies of another size than their job says, ids that are not "
          "below "
          "the next one, tubes that are missing or there twice, pauses without a tube, invalid "
          "settings, keys of jobs (idp) that their jobs do not hold, jobs without their key, rows "
          "of an unknown kind, table files whose checksums or counts are wrong, and a log that a "
          "start would "
          "refuse. With --deep it also holds each body against its hash, and the tables with "
          "bodies against their checksums.\n\n"
          "If there are faults, the last line is the one command to type, which loses least: to "
          "start "
          "the server, which contains damage of bodies; perennial repair or dump, with the numbers "
          "of "
          "jobs that it keeps and loses; or perennial restore, with the age of the newest "
          "checkpoint "
          "that is whole and what it lacks.\n\n"
          "Exit code 0: no fault. 1: there are some, or the directory cannot be read.",
      .examples =
          "  perennial check --data-dir /var/lib/perennial\n"
          "  # Before a checkpoint is trusted.\n"
          "  perennial check --deep --data-dir /var/lib/perennial/checkpoints/NAME\n",
      .flags =
          {
              {"--data-dir", "DIR", "The data directory, or a checkpoint", &options->data_dir,
               true},
              {"--deep", "", "Also hash every body", &options->deep},
              {"--limit", "COUNT", "Show so many faults; all are counted", &options->limit},
              {"--json", "", "Report as JSON", &options->json},
          },
      .run =
          [options] {
            ignore_closed_pipes();
            return check(*options);
          },
  };
}

}  // namespace perennial::tool
