#include "store/offline/repair.h"

#include <cstdio>
#include <memory>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/checkpoints/checkpoint_choice.h"
#include "cmd/perennial/offline/commands.h"
#include "cmd/perennial/offline/salvage_report.h"
#include "cmd/perennial/output/output.h"
#include "store/checkpoint/checkpoint.h"

namespace perennial::tool {
namespace {

using store::Salvaged;

void print_plan(Output& out, const store::Repair& repair) {
  const Salvaged& salvaged = repair.account();
  for (const std::string& line : damage_lines(salvaged)) out.add(line + "\n");
  for (const JobState state : store::job_states) {
    out.add(fmt::format("{:<20}{}\n", fmt::format("rows of {}", state_name(state)),
                        salvaged.jobs[static_cast<size_t>(state)]));
  }
  out.add(fmt::format(
      "jobs kept           {}\njobs lost           {}\nuncertain jobs      {}\n"
      "next id             {}\n",
      salvaged.whole_jobs(), salvaged.lost_jobs(), salvaged.uncertain.count, repair.next_id()));
  if (salvaged.log_may_be_damaged()) {
    out.add(
        fmt::format("not counted         what only the damaged log knew{}: jobs put, deleted and "
                    "moved there\n",
                    lost_commits_text(salvaged)));
  }
}

nlohmann::ordered_json plan_json(const store::Repair& repair) {
  const Salvaged& salvaged = repair.account();
  nlohmann::ordered_json out = salvaged_json(salvaged);
  out["next_id"] = repair.next_id();
  if (salvaged.checkpoint.empty()) return out;
  out["checkpoint"] = {{"path", salvaged.checkpoint},
                       {"rows", salvaged.rows_copied.ids},
                       {"bodies", salvaged.bodies_copied.ids}};
  return out;
}

}  // namespace

Status repair(const RepairOptions& options, int fd) {
  const Result<std::string> checkpoint =
      checkpoint_for_salvage(options.data_dir, options.checkpoint);
  if (!checkpoint.ok()) return checkpoint.status();
  const auto opened = store::Repair::open(options.data_dir, *checkpoint);
  if (!opened.ok()) return opened.status();
  store::Repair& repair = **opened;
  Output out(fd);
  if (repair.account().is_whole()) {
    out.add(options.json ? "{}\n" : "nothing to repair: everything can be read\n");
    return out.finish();
  }
  nlohmann::ordered_json json = plan_json(repair);
  if (!options.json) {
    print_plan(out, repair);
    if (Status shown = out.finish(); !shown.ok()) return shown;
  }
  const Result<bool> agreed =
      options.yes
          ? Result<bool>(true)
          : ask_person(fmt::format("replace the database in {} by a new one with these jobs",
                                   options.data_dir));
  if (!agreed.ok() || !*agreed) {
    if (options.json) out.add(json.dump(2) + "\n");
    if (Status shown = out.finish(); !shown.ok()) return shown;
    return agreed.ok() ? nothing_changed() : agreed.status();
  }
  const Result<std::string> aside = repair.run(store::checkpoint_name(absl::GetCurrentTimeNanos()));
  if (!aside.ok()) return aside.status();
  if (options.json) {
    json["aside"] = *aside;
    out.add(json.dump(2) + "\n");
  } else {
    out.add(
        fmt::format("repaired            {}\nthe damaged one     {}\n", options.data_dir, *aside));
  }
  return out.finish();
}

Subcommand repair_command() {
  const auto options = std::make_shared<RepairOptions>();
  return {
      .name = "repair",
      .summary = "Make a damaged data directory whole, with all jobs that can be read",
      .about =
          "Reads all that can be read of a data directory that no server uses, as perennial dump "
          "--salvage does: a damaged block of a table costs the rows in that block. It says how "
          "many jobs it will keep, which it will lose, and how many may be in another state or "
          "deleted. Then it asks. Without a terminal --yes is needed. The outcome is what it has "
          "said, or nothing changes.\n\n"
          "Rows and bodies that cannot be read, or that only a damaged log had, come from a "
          "checkpoint, where one has them. That is "
          "the newest whole one in DIR/checkpoints, or the one that --checkpoint names. A body is "
          "always what was put. A row may be older than the job: it is said for which jobs.\n\n"
          "It builds a new database in the directory, which takes as much disk space as the jobs, "
          "and "
          "exchanges the two. A crash leaves the old one or the new one. The damaged one becomes "
          "damaged-TIME in the directory, where every tool still reads it, until you remove it. "
          "lost-jobs.jsonl in it has a line for each lost job, with all that is left of it. The "
          "next "
          "id is moved on by 2^40, so that no id is used twice.\n\n"
          "perennial check says whether a checkpoint would lose less. A node of a cluster is not "
          "repaired: it gets its jobs from the other nodes.\n\n"
          "Run it as the user that the server runs as.",
      .examples =
          "  systemctl stop perenniald\n"
          "  perennial check --data-dir /var/lib/perennial\n"
          "  perennial repair --data-dir /var/lib/perennial\n"
          "  systemctl start perenniald\n",
      .flags = {{"--data-dir", "DIR", "The data directory", &options->data_dir, true},
                {"--checkpoint", "DIR",
                 "A checkpoint of this database for what cannot be read, or none",
                 &options->checkpoint},
                {"--yes", "", "Do not ask", &options->yes},
                {"--json", "", "Report as JSON", &options->json}},
      .run = [options] { return repair(*options); },
  };
}

}  // namespace perennial::tool
