#include "cmd/perennial/offline/checkpoint_offline.h"

#include <algorithm>
#include <cstdio>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/offline/manifest_json.h"
#include "cmd/perennial/progress.h"
#include "cmd/perennial/wall_clock.h"
#include "store/checkpoint.h"
#include "store/data_dir.h"

namespace perennial::tool {
namespace {

using nlohmann::ordered_json;
using store::CheckpointEntry;
using store::CheckpointManifest;

Result<std::string> dir_of(const CheckpointPlace& place) {
  if (!place.dir.empty()) return place.dir;
  if (!place.data_dir.empty()) return place.data_dir + "/checkpoints";
  return Status(StatusCode::InvalidArgument,
                "say where the checkpoints are: --data-dir DIR, or --dir CHECKPOINT_DIR if "
                "checkpoint_dir is set in the server's configuration");
}

std::string size_text(uint64_t bytes) {
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  if (bytes < 10'000'000) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 10'000'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

// Two units at most, the larger first.
std::string age_text(Nanos age) {
  const auto seconds = static_cast<uint64_t>(std::max<Nanos>(age, 0) / nanos_per_second);
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 86'400) return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d {:02}h", seconds / 86'400, seconds / 3600 % 24);
}

ordered_json manifest_json(const CheckpointManifest& manifest, Nanos now) {
  ordered_json out = {{"created_ns", manifest.created},
                      {"age_seconds", (now - manifest.created) / nanos_per_second},
                      {"server_version", manifest.server_version},
                      {"format", manifest.format},
                      {"bytes", manifest.bytes()},
                      {"files", manifest.files.size()}};
  if (!manifest.has_counts) return out;
  out["commit"] = manifest.commit.index;
  out["next_id"] = manifest.next_id;
  add_content(out, manifest);
  return out;
}

std::string state_of(const CheckpointEntry& entry) {
  if (!entry.complete) return "half-made";
  return entry.manifest.ok() ? "complete" : "damaged";
}

void print_list_json(const std::vector<CheckpointEntry>& entries, Nanos now) {
  ordered_json out = ordered_json::array();
  for (const CheckpointEntry& entry : entries) {
    ordered_json one = {{"name", entry.name}, {"path", entry.path}, {"state", state_of(entry)}};
    if (entry.manifest.ok()) one.update(manifest_json(*entry.manifest, now));
    if (entry.complete && !entry.manifest.ok()) one["problem"] = entry.manifest.status().message();
    out.push_back(std::move(one));
  }
  std::puts(out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void print_list_line(const CheckpointEntry& entry, Nanos now) {
  const std::string state = state_of(entry);
  if (state != "complete") {
    fmt::print("{:>8}  {:<26}{:>12}{:>12}{:>12}  {}\n", "-", entry.name, "-", "-", "-", state);
    return;
  }
  const CheckpointManifest& manifest = *entry.manifest;
  const auto counted = [&](uint64_t count) {
    return manifest.has_counts ? std::to_string(count) : "-";
  };
  fmt::print("{:>8}  {:<26}{:>12}{:>12}{:>12}  {}\n", age_text(now - manifest.created), entry.name,
             counted(manifest.job_count()), size_text(manifest.bytes()),
             counted(manifest.commit.index), state);
}

// One that is verified, or why it is not.
struct Verdict {
  std::string path;
  Result<CheckpointManifest> manifest;
};

Verdict verify(const std::string& path) {
  const Result<CheckpointManifest> known = store::read_checkpoint(path);
  if (!known.ok()) return {path, known.status()};
  Progress progress("bytes read", known->bytes());
  return {path, store::verify_checkpoint(path, [&](uint64_t bytes) { progress.look(bytes); })};
}

void print_verdicts_json(const std::vector<Verdict>& verdicts) {
  ordered_json out = ordered_json::array();
  for (const Verdict& verdict : verdicts) {
    ordered_json one = {{"path", verdict.path}, {"ok", verdict.manifest.ok()}};
    if (verdict.manifest.ok()) {
      one.update(manifest_json(*verdict.manifest, wall_clock()));
    } else {
      one["problem"] = verdict.manifest.status().message();
    }
    out.push_back(std::move(one));
  }
  std::puts(out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void print_verdict(const Verdict& verdict) {
  if (!verdict.manifest.ok()) {
    fmt::print("bad   {}: {}\n", verdict.path, verdict.manifest.status().message());
    return;
  }
  const CheckpointManifest& manifest = *verdict.manifest;
  fmt::print("good  {}: {} in {} files", verdict.path, size_text(manifest.bytes()),
             manifest.files.size());
  if (manifest.has_counts) {
    fmt::print(", {} jobs in {} tubes, commit {}", manifest.job_count(), manifest.tubes.size(),
               manifest.commit.index);
  }
  fmt::print("\n");
}

struct Pruned {
  std::vector<std::string> old;
  std::vector<std::string> half_made;
  // Why half-made ones were left alone, if there are any.
  std::string left_alone;
};

// A half-made checkpoint may be one that a server is just making. Only the data directory's lock
// tells: a server holds it for as long as it lives, and while we do, there is none.
Result<std::vector<std::string>> prune_half_made(const std::string& dir,
                                                 const CheckpointPlace& place, Pruned& out) {
  const std::vector<std::string> none;
  const Result<std::vector<CheckpointEntry>> all = store::list_checkpoints(dir);
  if (!all.ok()) return all.status();
  if (std::ranges::all_of(*all, &CheckpointEntry::complete)) return none;
  if (place.data_dir.empty()) {
    out.left_alone =
        "half-made ones were left alone: give --data-dir as well, so that it is seen whether a "
        "server is making one";
    return none;
  }
  const Result<store::ReadLock> lock = store::ReadLock::take(place.data_dir);
  if (lock.ok()) return store::remove_partial_checkpoints(dir);
  if (lock.status().code() != StatusCode::Locked) return lock.status();
  out.left_alone =
      "half-made ones were left alone, because a server uses the data directory: it may be making "
      "one, and removes any others itself";
  return none;
}

void print_pruned(const Pruned& pruned, bool json) {
  if (json) {
    const ordered_json out = {{"removed", pruned.old},
                              {"removed_half_made", pruned.half_made},
                              {"note", pruned.left_alone}};
    std::puts(out.dump(2).c_str());
    return;
  }
  for (const std::string& name : pruned.old) fmt::print("removed {}\n", name);
  for (const std::string& name : pruned.half_made) fmt::print("removed {}, half-made\n", name);
  if (!pruned.left_alone.empty()) fmt::print("{}\n", pruned.left_alone);
  if (pruned.old.empty() && pruned.half_made.empty()) fmt::print("nothing to remove\n");
}

std::vector<Flag> place_flags(CheckpointPlace& place) {
  return {{"--data-dir", "DIR", "The data directory, whose checkpoints are in DIR/checkpoints",
           &place.data_dir},
          {"--dir", "DIR", "Where the checkpoints are, if checkpoint_dir says another place",
           &place.dir}};
}

std::vector<Flag> with(std::vector<Flag> flags, std::vector<Flag> more) {
  for (Flag& flag : more) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace

Status checkpoint_list(const CheckpointListOptions& options) {
  const Result<std::string> dir = dir_of(options.place);
  if (!dir.ok()) return dir.status();
  const Result<std::vector<CheckpointEntry>> entries = store::list_checkpoints(*dir);
  if (!entries.ok()) return entries.status();
  const Nanos now = wall_clock();
  if (options.json) {
    print_list_json(*entries, now);
    return {};
  }
  if (entries->empty()) {
    fmt::print("no checkpoints in {}\n", *dir);
    return {};
  }
  fmt::print("{:>8}  {:<26}{:>12}{:>12}{:>12}  {}\n", "AGE", "NAME", "JOBS", "SIZE", "COMMIT",
             "STATE");
  for (const CheckpointEntry& entry : *entries) print_list_line(entry, now);
  return {};
}

Status checkpoint_verify(const CheckpointVerifyOptions& options) {
  std::vector<Verdict> verdicts;
  size_t bad = 0;
  for (const std::string& path : options.paths) {
    verdicts.push_back(verify(path));
    bad += verdicts.back().manifest.ok() ? 0 : 1;
    if (!options.json) print_verdict(verdicts.back());
  }
  if (options.json) print_verdicts_json(verdicts);
  if (bad == 0) return {};
  return {StatusCode::Corruption, fmt::format("{} of {} are not good", bad, verdicts.size())};
}

Status checkpoint_prune(const CheckpointPruneOptions& options) {
  const Result<std::string> dir = dir_of(options.place);
  if (!dir.ok()) return dir.status();
  Pruned pruned;
  Result<std::vector<std::string>> half_made = prune_half_made(*dir, options.place, pruned);
  if (!half_made.ok()) return half_made.take_status();
  pruned.half_made = half_made.take();
  Result<std::vector<std::string>> old = store::prune_checkpoints(*dir, options.keep);
  if (!old.ok()) return old.take_status();
  pruned.old = old.take();
  print_pruned(pruned, options.json);
  return {};
}

Subcommand checkpoint_list_command(CheckpointListOptions& options) {
  return {
      .name = "checkpoint list",
      .summary = "List checkpoints with their age, jobs and size",
      .about =
          "Lists the checkpoints of a data directory, the oldest first, by what their manifests "
          "say. Works while a server runs. Nothing is verified: that is what checkpoint verify "
          "is for.\n\n"
          "SIZE is what the files would take alone. As long as the data directory still has the "
          "same tables, they are links to them and take no room of their own.\n\n"
          "A half-made checkpoint is being made just now, or was when its server was killed.",
      .examples =
          "  perennial checkpoint list --data-dir /var/lib/perennial\n"
          "  # The newest one that is complete, for a script:\n"
          "  perennial checkpoint list --data-dir /var/lib/perennial --json |\n"
          "    jq -r 'map(select(.state == \"complete\")) | last | .path'\n",
      .flags = with(place_flags(options.place), {{"--json", "", "List as JSON", &options.json}}),
      .run = [&options] { return checkpoint_list(options); },
  };
}

Subcommand checkpoint_verify_command(CheckpointVerifyOptions& options) {
  return {
      .name = "checkpoint verify",
      .summary = "Prove that checkpoints can be restored",
      .about =
          "Reads every byte of each checkpoint and compares it with the hashes in its manifest, "
          "then opens it and reads every job's row. A file that was changed, cut off, removed or "
          "added is named. Changes nothing, and works while a server runs.\n\n"
          "A checkpoint is verified when it is made, and once more by restore. In between a disk "
          "may rot, so verify copies where they are kept. The exit code is 1 if any is not good.",
      .examples =
          "  perennial checkpoint verify /var/lib/perennial/checkpoints/*Z\n"
          "  # After it was copied to another machine:\n"
          "  perennial checkpoint verify /backup/2026-11-21T12-40-05.123Z\n",
      .flags = {{"PATH", "DIR", "A checkpoint; there may be several", &options.paths, true},
                {"--json", "", "Report as JSON", &options.json}},
      .run = [&options] { return checkpoint_verify(options); },
  };
}

Subcommand checkpoint_prune_command(CheckpointPruneOptions& options) {
  return {
      .name = "checkpoint prune",
      .summary = "Remove old checkpoints, and half-made ones",
      .about =
          "Keeps the newest checkpoints and removes all that are older. One whose manifest is "
          "damaged does not count as kept, so that as many good ones as you said are left. "
          "Works while a server runs.\n\n"
          "Half-made checkpoints are removed, too, but only where --data-dir is given and no "
          "server uses it: a server may be making one, and removes what an earlier one left.",
      .examples =
          "  perennial checkpoint prune --data-dir /var/lib/perennial --keep 7\n"
          "  perennial checkpoint prune --dir /srv/checkpoints --keep 24\n",
      .flags = with(
          {{"--keep", "N", "How many to keep, at least 1", &options.keep, true, {}, 1, 1'000'000}},
          with(place_flags(options.place), {{"--json", "", "Report as JSON", &options.json}})),
      .run = [&options] { return checkpoint_prune(options); },
  };
}

}  // namespace perennial::tool
