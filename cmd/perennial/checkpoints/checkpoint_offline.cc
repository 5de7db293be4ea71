#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

#include <absl/time/clock.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/tool/progress.h"
#include "cmd/perennial/checkpoints/commands.h"
#include "cmd/perennial/output/readable.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/identity.h"

namespace perennial::tool {
namespace {

using nlohmann::ordered_json;
using store::CheckpointEntry;
using store::CheckpointManifest;
using store::CheckpointOwner;

// At most two units, the larger one first.
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

std::string checkpoint_state(const CheckpointEntry& entry) {
  if (!entry.complete) return "half-made";
  return entry.manifest.ok() ? "complete" : "damaged";
}

// Whether to show owners: the checkpoints belong to several databases, or not to the given data
// directory.
bool has_several_owners(const std::vector<CheckpointEntry>& entries,
                        const std::optional<CheckpointOwner>& owner) {
  const auto is_like_the_first = [&](const CheckpointEntry& entry) {
    return owner ? owner->owns(entry.database) : entry.database == entries.front().database;
  };
  return !std::ranges::all_of(entries, is_like_the_first);
}

std::string owner_text(const CheckpointEntry& entry, const std::optional<CheckpointOwner>& owner) {
  constexpr size_t shown = 8;
  if (owner && owner->owns(entry.database)) return "this one";
  return entry.database.empty() ? "-" : entry.database.substr(0, shown);
}

void print_list_json(const std::vector<CheckpointEntry>& entries, Nanos now) {
  ordered_json out = ordered_json::array();
  for (const CheckpointEntry& entry : entries) {
    ordered_json one = {
        {"name", entry.name}, {"path", entry.path}, {"state", checkpoint_state(entry)}};
    one["database"] = entry.database.empty() ? ordered_json() : ordered_json(entry.database);
    if (entry.manifest.ok()) one.update(manifest_json(*entry.manifest, now));
    if (entry.complete && !entry.manifest.ok()) one["problem"] = entry.manifest.status().message();
    out.push_back(std::move(one));
  }
  std::puts(out.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void print_list_line(const CheckpointEntry& entry, Nanos now, const std::string& database) {
  std::string state = checkpoint_state(entry);
  if (!database.empty()) state = fmt::format("{:<11}{}", state, database);
  if (!entry.complete || !entry.manifest.ok()) {
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

void print_list(const std::vector<CheckpointEntry>& entries,
                const std::optional<CheckpointOwner>& owner, Nanos now, const std::string& dir) {
  if (entries.empty()) {
    fmt::print("no checkpoints in {}\n", dir);
    return;
  }
  const bool has_others = has_several_owners(entries, owner);
  fmt::print("{:>8}  {:<26}{:>12}{:>12}{:>12}  {}\n", "AGE", "NAME", "JOBS", "SIZE", "COMMIT",
             has_others ? "STATE      DATABASE" : "STATE");
  for (const CheckpointEntry& entry : entries) {
    const std::string database = has_others ? owner_text(entry, owner) : "";
    print_list_line(entry, now, database);
  }
}

// The result of verifying one checkpoint: its manifest, or why it is refused.
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
      one.update(manifest_json(*verdict.manifest, absl::GetCurrentTimeNanos()));
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

}  // namespace

Status checkpoint_list(const CheckpointListOptions& options) {
  const Result<std::string> dir = dir_of(options.place);
  if (!dir.ok()) return dir.status();
  const Result<std::vector<CheckpointEntry>> entries = store::list_checkpoints(*dir);
  if (!entries.ok()) return entries.status();
  const Nanos now = absl::GetCurrentTimeNanos();
  if (options.json) {
    print_list_json(*entries, now);
    return {};
  }
  std::optional<CheckpointOwner> owner;
  if (!options.place.data_dir.empty()) {
    Result<std::string> database = store::read_identity(options.place.data_dir);
    if (!database.ok()) return database.take_status();
    owner = store::checkpoint_owner(options.place.data_dir, database.take(), *dir);
  }
  print_list(*entries, owner, now, *dir);
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

Subcommand checkpoint_list_command() {
  const auto options = std::make_shared<CheckpointListOptions>();
  return {
      .name = "checkpoint list",
      .summary = "List checkpoints with their age, jobs and size",
      .about =
          "Lists the checkpoints of a data directory, the oldest first, by what their manifests "
          "say. Works while a server runs. Nothing is verified: that is what checkpoint verify "
          "is for.\n\n"
          "SIZE is what the files would take alone. As long as the data directory still has the "
          "same tables, they are links to them and take no room of their own.\n\n"
          "A half-made checkpoint is being made just now, or was when its server was killed.\n\n"
          "DATABASE is shown where checkpoints of several databases lie in one directory, or some "
          "that are not those of --data-dir: the first characters of the database's identity, "
          "which "
          "is in DIR/db/IDENTITY, or - where it is not known.",
      .examples =
          "  perennial checkpoint list --data-dir /var/lib/perennial\n"
          "  # The newest one that is complete, for a script:\n"
          "  perennial checkpoint list --data-dir /var/lib/perennial --json |\n"
          "    jq -r 'map(select(.state == \"complete\")) | last | .path'\n",
      .flags = place_flags(options->place, {{"--json", "", "List as JSON", &options->json}}),
      .run = [options] { return checkpoint_list(*options); },
  };
}

Subcommand checkpoint_verify_command() {
  const auto options = std::make_shared<CheckpointVerifyOptions>();
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
      .flags = {{"PATH", "DIR", "A checkpoint; there may be several", &options->paths, true},
                {"--json", "", "Report as JSON", &options->json}},
      .run = [options] { return checkpoint_verify(*options); },
  };
}

}  // namespace perennial::tool
