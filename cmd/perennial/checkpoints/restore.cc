#include "store/offline/restore.h"

#include <cstdio>
#include <memory>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/shell_word.h"
#include "cmd/common/tool/progress.h"
#include "cmd/perennial/arguments/copied_schedules.h"
#include "cmd/perennial/checkpoints/commands.h"
#include "cmd/perennial/output/readable.h"
#include "store/format/skipped_ids.h"

namespace perennial::tool {
namespace {

using store::CheckpointManifest;

void print_json(const RestoreOptions& options, const store::Restored& restored) {
  const CheckpointManifest& manifest = restored.manifest;
  nlohmann::ordered_json out = {{"from", options.from},
                                {"to", options.to},
                                {"created_ns", manifest.created},
                                {"format", manifest.format}};
  if (manifest.has_counts) {
    out["commit"] = manifest.commit.index;
    out["is_of_cluster"] = restored.is_of_cluster;
    add_content(out, manifest);
    out["next_id"] = restored.next_id;
    out["id_gap"] = restored.next_id - manifest.next_id;
  }
  out["schedules_paused"] = restored.schedules_paused;
  std::puts(out.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

void print_counts(const store::Restored& restored, bool exact) {
  const CheckpointManifest& manifest = restored.manifest;
  fmt::print("commit     {}\n", manifest.commit.index);
  fmt::print("jobs       {}\n", manifest.job_count());
  fmt::print("  ready    {}\n", manifest.jobs.ready);
  fmt::print("  reserved {}\n", manifest.jobs.reserved);
  fmt::print("  delayed  {}\n", manifest.jobs.delayed);
  fmt::print("  buried   {}\n", manifest.jobs.buried);
  fmt::print("tubes      {}\n", manifest.tubes.size());
  const uint64_t gap = restored.next_id - manifest.next_id;
  fmt::print("next id    {}{}\n", restored.next_id,
             exact ? ", as in the checkpoint"
                   : fmt::format(", moved on by {} from that of the checkpoint", with_commas(gap)));
}

// Whether the skip takes the ids past what some clients can keep.
bool needs_64_bits(const store::Restored& restored) {
  return restored.manifest.has_counts && restored.manifest.next_id < store::id_limit_32_bits &&
         restored.next_id >= store::id_limit_32_bits;
}

void print_table(const RestoreOptions& options, const store::Restored& restored) {
  fmt::print("restored   {}\n", options.to);
  if (restored.manifest.has_counts) print_counts(restored, options.exact);
  if (needs_64_bits(restored)) {
    fmt::print(
        "\nIds have more than 31 bits from now on, and a client that keeps an id in 32 bits\n"
        "cannot finish such a job. If you know that fewer ids were given out after the\n"
        "checkpoint, restore again with --id-gap.\n");
  }
  if (restored.schedules_paused > 0) {
    fmt::print("\n{}", schedules_paused_text(restored.schedules_paused, "restore"));
  }
  if (restored.is_of_cluster) {
    return fmt::print(
        "\nIt belongs to a node of a cluster, which would do again all that was done after the\n"
        "checkpoint, as the log in etcd says. To go back to the checkpoint, stop all nodes, put\n"
        "it into the place of the directory of one of them, and begin a new log with it:\n"
        "perennial cluster recover --data-dir {} --go-back --yes\n"
        "etc/docs/cluster.md, \"Go back to a checkpoint\", has all of it.\n",
        common::shell_word(options.to));
  }
  fmt::print(
      "\nStart a server on it with the configuration of yours, which says who may connect:\n"
      "perenniald --config /etc/perennial/perennial.yaml -b {}\n",
      common::shell_word(options.to));
  fmt::print(
      "Jobs that were put after the checkpoint are not in it, and jobs that were done\n"
      "after it are there again.\n");
}

}  // namespace

Status restore(const RestoreOptions& options) {
  if (options.exact && options.id_gap)
    return {StatusCode::InvalidArgument, "--exact and --id-gap exclude each other"};
  if (Status checked = check_copied_schedules(options.schedules); !checked.ok()) return checked;
  const Result<CheckpointManifest> known = store::read_checkpoint(options.from);
  if (!known.ok()) return known.status();
  store::Restore how = {.from = options.from, .to = options.to, .copy = options.copy};
  how.skip_ids = options.id_gap.value_or(
      store::skipped_ids_after(absl::GetCurrentTimeNanos() - known->created));
  if (options.exact) how.skip_ids = 0;
  how.pause_schedules = options.schedules == "paused";
  Progress progress("bytes verified", known->bytes());
  how.progress = [&](uint64_t bytes) { progress.look(bytes); };
  const Result<store::Restored> restored = store::restore_checkpoint(how);
  if (!restored.ok()) return restored.status();
  options.json ? print_json(options, *restored) : print_table(options, *restored);
  return {};
}

Subcommand restore_command() {
  const auto options = std::make_shared<RestoreOptions>();
  return {
      .name = "restore",
      .summary = "Make a data directory from a checkpoint",
      .about =
          "Verifies every byte of the checkpoint, makes a new data directory of it, and syncs it "
          "before it gets its name. A checkpoint in which anything was changed is refused, and "
          "then nothing of the new directory is left. The checkpoint stays as it is, also when "
          "a server works on the new directory. It never writes into a directory that is there, "
          "and so it asks nothing.\n\n"
          "Jobs that were reserved when the checkpoint was made become ready. The next id is "
          "moved on, so that ids which were given out after the checkpoint are not given out "
          "again for other jobs: by 400,000 for each second since the checkpoint, which no server "
          "exceeds, at least by 2^24 and at most by 2^40. So the ids of a fresh checkpoint stay "
          "below 2^31, which some clients need. --id-gap moves it on by another number, which "
          "must not be below the number of jobs that were put after the checkpoint; --exact leaves "
          "it.\n\n"
          "Schedules are paused in the new directory, so that a copy beside the original puts no "
          "jobs of its own. If it takes the place of the original, --schedules=active leaves them "
          "as "
          "they were: they then make up for the times that were missed since the checkpoint, as "
          "after any stop. Those of a node of a cluster are left as they are, also without it.\n\n"
          "The new directory is another database than the one the checkpoint was made of: a server "
          "counts and removes only its own database's checkpoints, so that those that are there "
          "stay until checkpoint prune or you remove them.\n\n"
          "Run it as the user that the server runs as, because the files are that user's alone. "
          "Tables are hard links where both are on one file system, which is fast and takes no "
          "room; --copy makes the new directory independent of a disk that may go bad in one "
          "place for both.",
      .examples =
          "  perennial checkpoint list --data-dir /var/lib/perennial\n"
          "  systemctl stop perenniald\n"
          "  mv /var/lib/perennial /var/lib/perennial.before\n"
          "  perennial restore --to /var/lib/perennial \\\n"
          "    --from /var/lib/perennial.before/checkpoints/2026-11-21T12-40-05.123Z\n"
          "  systemctl start perenniald\n",
      .flags = {{"--from", "DIR", "The checkpoint", &options->from, true},
                {"--to", "DIR", "The data directory to make; it must not be there yet",
                 &options->to, true},
                {"--exact", "", "Leave the next id as it is in the checkpoint", &options->exact},
                {.name = "--id-gap",
                 .value = "N",
                 .help =
                     "Move the next id on by N; without, as far as the checkpoint's age asks for",
                 .target = &options->id_gap,
                 .lowest = 1,
                 .highest = store::skipped_ids},
                copied_schedules_flag(options->schedules),
                {"--copy", "", "Copy all files, where tables could be hard links", &options->copy},
                {"--json", "", "Report as JSON", &options->json}},
      .run = [options] { return restore(*options); },
  };
}

}  // namespace perennial::tool
