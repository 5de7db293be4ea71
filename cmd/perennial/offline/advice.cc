#include "cmd/perennial/offline/advice.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/shell_word.h"
#include "cmd/perennial/checkpoints/checkpoint_choice.h"
#include "cmd/perennial/offline/salvage_report.h"
#include "store/reader.h"

namespace perennial::tool {
namespace {

using common::shell_word;

bool is_checkpoint(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path + "/manifest.json", error);
}

std::string age_of(Nanos age) {
  const auto minutes = static_cast<uint64_t>(std::max<Nanos>(age, 0) / nanos_per_second / 60);
  if (minutes < 60) return fmt::format("{} min", minutes);
  return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

void each_job(const store::Reader& reader, const std::function<void(JobId)>& take) {
  ignore(reader.load({.tube = [](TubeId, std::string_view) { return Status(); },
                      .pause = [](const TubePaused&) { return Status(); },
                      .settings = [](const SettingsStored&) { return Status(); },
                      .job =
                          [&](const JobRow& row) {
                            take(row.id);
                            return Status();
                          },
                      .key = [](const KeyStored&) { return Status(); }}),
         "what cannot be read is not counted");
}

// Counts the jobs that can be read here and are not in the checkpoint. Its next id would not tell:
// ids are reserved by the thousand. Takes eight bytes for each job of the checkpoint.
uint64_t count_lacking(const store::Reader& reader, const std::string& checkpoint) {
  const auto opened = store::Reader::open({.path = checkpoint});
  if (!opened.ok()) return 0;
  std::vector<JobId> there;
  each_job(**opened, [&](JobId id) { there.push_back(id); });
  std::ranges::sort(there);
  uint64_t count = 0;
  each_job(reader, [&](JobId id) { count += std::ranges::binary_search(there, id) ? 0 : 1; });
  return count;
}

// Opens what can be read, with the rows of the checkpoint for those that cannot.
Result<std::unique_ptr<store::Reader>> open_salvage(const std::string& data_dir,
                                                    const CheckpointChoice& choice) {
  const bool fits = choice.chosen && choice.chosen->is_of_directory;
  return store::Reader::open({.path = data_dir,
                              .salvage = true,
                              .checkpoint = fits ? choice.chosen->path : std::string()});
}

void choose_start(Advice& advice, const std::string& data_dir) {
  advice.action = Advice::Action::Start;
  advice.command = "perenniald -b " + shell_word(data_dir);
  advice.reason =
      "a server starts and contains the damage; give it the configuration and the user that it "
      "had, "
      "as \"systemctl start perenniald\" does";
  if (!advice.salvaged) return;
  const store::IdList& lost = advice.salvaged->bodies_lost;
  advice.reason += lost.count == 0 ? "; no job is lost"
                                   : fmt::format("; {} jobs have lost their bodies: {}", lost.count,
                                                 runs_of_ids(lost));
}

std::string kept_text(const store::Salvaged& salvaged) {
  std::string out =
      fmt::format("keeps {} jobs and loses {}", salvaged.whole_jobs(), salvaged.lost_jobs());
  if (const uint64_t copied = salvaged.rows_copied.count + salvaged.bodies_copied.count; copied > 0)
    out += fmt::format(" ({} rows and bodies are those of a checkpoint)", copied);
  if (salvaged.log_may_be_damaged()) {
    out += " that have left a trace, and an unknown number that only the damaged log had";
  } else if (!salvaged.manifest_problem.empty()) {
    out += " that have left a trace, and an unknown number that were in missing tables";
  }
  if (salvaged.jobs_in_renamed.count > 0) {
    out += fmt::format(", {} are in tubes whose names are lost", salvaged.jobs_in_renamed.count);
  }
  if (salvaged.uncertain.count > 0) {
    out += fmt::format(", {} may be in another state or deleted", salvaged.uncertain.count);
  }
  return out;
}

std::string checkpoint_text(const Advice::Checkpoint& checkpoint, Nanos now) {
  std::string out = fmt::format("{}, {} old, has {} jobs",
                                std::filesystem::path(checkpoint.path).filename().string(),
                                age_of(now - checkpoint.created), checkpoint.jobs);
  if (checkpoint.lacks)
    out += fmt::format(" and lacks {} that can be read here", *checkpoint.lacks);
  return out;
}

void choose_restore(Advice& advice, const std::string& data_dir, Nanos now) {
  advice.action = Advice::Action::Restore;
  advice.command = fmt::format("perennial restore --from {} --to {}",
                               shell_word(advice.checkpoint->path), shell_word(data_dir + ".new"));
  advice.reason = "the checkpoint " + checkpoint_text(*advice.checkpoint, now);
  advice.reason += advice.salvaged ? "; repair " + kept_text(*advice.salvaged)
                                   : std::string("; the directory itself cannot be read");
}

void choose_salvage(Advice& advice, const std::string& data_dir, Nanos now) {
  const store::Salvaged& salvaged = *advice.salvaged;
  const bool is_to_dump = is_checkpoint(data_dir) || salvaged.has_cluster;
  advice.action = is_to_dump ? Advice::Action::Dump : Advice::Action::Repair;
  advice.command = is_to_dump ? fmt::format("perennial dump --data-dir {} --salvage > jobs.jsonl",
                                            shell_word(data_dir))
                              : "perennial repair --data-dir " + shell_word(data_dir);
  advice.reason = kept_text(salvaged);
  if (salvaged.has_cluster) advice.reason += "; a node of a cluster can get its jobs from others";
  if (advice.checkpoint) {
    advice.reason += "; the checkpoint " + checkpoint_text(*advice.checkpoint, now);
  }
  if (salvaged.lost_jobs() > 0 && salvaged.checkpoint.empty()) {
    advice.reason += "; if a copy of a checkpoint is elsewhere, add --checkpoint DIR";
  }
  if (!advice.damaged_checkpoints.empty()) {
    advice.reason +=
        fmt::format("; {} checkpoints are damaged, too", advice.damaged_checkpoints.size());
  }
}

}  // namespace

std::optional<Advice> advise(const std::string& data_dir, const store::CheckSummary& summary,
                             Nanos now) {
  Advice advice;
  const CheckpointChoice choice = choose_checkpoint(data_dir);
  const Result<std::unique_ptr<store::Reader>> reader = open_salvage(data_dir, choice);
  // A start buries the jobs without a body. Where a checkpoint has bodies, a repair comes first.
  const bool has_bodies = reader.ok() && (*reader)->salvaged()->bodies_copied.count > 0;
  const bool is_for_start = summary.starts && !is_checkpoint(data_dir) && !has_bodies;
  if (!reader.ok() && reader.status().code() == StatusCode::Unsupported) return std::nullopt;
  if (reader.ok()) advice.salvaged = *(*reader)->salvaged();
  if (is_for_start) {
    choose_start(advice, data_dir);
    return advice;
  }
  advice.damaged_checkpoints = choice.damaged;
  if (choice.chosen) {
    const store::CheckpointManifest& manifest = choice.chosen->manifest;
    advice.checkpoint = {.path = choice.chosen->path,
                         .created = manifest.created,
                         .jobs = manifest.job_count(),
                         .lacks = {}};
    if (reader.ok()) advice.checkpoint->lacks = count_lacking(**reader, choice.chosen->path);
  }
  // A repair takes from the checkpoint what it needs. Only where nobody knows what is lost may the
  // checkpoint have more than all that can be read.
  const auto may_lack_more = [](const store::Salvaged& salvaged) {
    return salvaged.log_may_be_damaged() || !salvaged.manifest_problem.empty();
  };
  const bool restore_loses_less =
      advice.checkpoint &&
      (!advice.salvaged || (may_lack_more(*advice.salvaged) &&
                            advice.checkpoint->jobs > advice.salvaged->whole_jobs()));
  if (restore_loses_less) {
    choose_restore(advice, data_dir, now);
  } else if (advice.salvaged) {
    choose_salvage(advice, data_dir, now);
  } else {
    advice.command = "perennial restore --from CHECKPOINT --to " + shell_word(data_dir + ".new");
    advice.reason = fmt::format(
        "of this directory nothing can be read: {}; there is no whole "
        "checkpoint in it, so take a copy from elsewhere",
        reader.ok() ? "" : reader.status().message());
  }
  return advice;
}

nlohmann::ordered_json advice_json(const Advice& advice, Nanos now) {
  constexpr std::array<const char*, 5> actions = {"start", "repair", "dump", "restore", "none"};
  nlohmann::ordered_json out = {{"action", actions[static_cast<size_t>(advice.action)]},
                                {"command", advice.command},
                                {"reason", advice.reason}};
  if (advice.salvaged) {
    out.update(salvaged_json(*advice.salvaged));
  }
  if (advice.checkpoint) {
    out["checkpoint"] = {
        {"path", advice.checkpoint->path},
        {"age_seconds", (now - advice.checkpoint->created) / nanos_per_second},
        {"jobs", advice.checkpoint->jobs},
        {"lacks", advice.checkpoint->lacks ? nlohmann::ordered_json(*advice.checkpoint->lacks)
                                           : nlohmann::ordered_json(nullptr)}};
  }
  return out;
}

}  // namespace perennial::tool
