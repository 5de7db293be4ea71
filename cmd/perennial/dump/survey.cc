#include "cmd/perennial/dump/survey.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "wire/command_line.h"

namespace perennial::tool {
namespace {

// The status with which a sink ends a load early, when nothing more is needed.
Status seen_enough() {
  return {StatusCode::NotFound, "seen enough"};
}

}  // namespace

uint64_t TubeTotals::job_count() const {
  return std::accumulate(jobs.begin(), jobs.end(), uint64_t{0});
}

Result<Survey> Survey::make(const store::Reader& reader, DumpSelection selection) {
  Survey survey(std::move(selection));
  const uint64_t limit = survey.selection_.limit.value_or(~uint64_t{0});
  bool is_done = limit == 0;
  const store::LoadSink sink = {
      .tube = [&](TubeId id, std::string_view name) { return survey.add_tube(id, name); },
      .pause =
          [&](const TubePaused& pause) {
            survey.tubes_[pause.tube].pause = pause;
            return Status();
          },
      .settings =
          [&](const SettingsStored& stored) {
            const TubeSettings& settings = stored.settings;
            if (keeps_ended(settings)) survey.need(dump_version_with_notes);
            survey.settings_.push_back(stored);
            return Status();
          },
      .job =
          [&](const JobRow& row) {
            if (is_done) return seen_enough();
            if (survey.is_selected(row)) survey.count(row);
            is_done = survey.job_count_ == limit;
            return Status();
          },
      .key = [](const KeyStored&) { return Status(); },
      .schedule =
          [&](const ScheduleStored&, std::string_view) {
            if (survey.selection_.is_everything()) survey.need(dump_version_with_schedules);
            return Status();
          }};
  if (Status loaded = reader.load(sink); !loaded.ok() && !is_done) return loaded;
  if (Status found = survey.check_found(reader); !found.ok()) return found;
  return survey;
}

Status Survey::each_job(
    const store::Reader& reader,
    const std::function<Status(const JobRow&, const std::string& tube)>& take) const {
  uint64_t left = job_count_;
  Status taken;
  const auto job = [&](const JobRow& row) {
    if (left == 0) return seen_enough();
    if (!is_selected(row)) return Status();
    --left;
    taken = take(row, tubes_.at(row.tube).name);
    return taken;
  };
  Status loaded = reader.load({.tube = [](TubeId, std::string_view) { return Status(); },
                               .pause = [](const TubePaused&) { return Status(); },
                               .settings = [](const SettingsStored&) { return Status(); },
                               .job = job,
                               .key = [](const KeyStored&) { return Status(); }});
  return taken.ok() && left == 0 ? Status() : loaded;
}

// They come before the jobs.
Status Survey::each_schedule(
    const store::Reader& reader,
    const std::function<Status(const ScheduleStored&, std::string_view body)>& take) const {
  if (!selection_.is_everything()) return {};
  bool has_all = false;
  Status loaded = reader.load({.tube = [](TubeId, std::string_view) { return Status(); },
                               .pause = [](const TubePaused&) { return Status(); },
                               .settings = [](const SettingsStored&) { return Status(); },
                               .job =
                                   [&](const JobRow&) {
                                     has_all = true;
                                     return seen_enough();
                                   },
                               .key = [](const KeyStored&) { return Status(); },
                               .schedule = take});
  return has_all ? Status() : loaded;
}

Status Survey::each_key(const store::Reader& reader,
                        const std::function<Status(const KeyStored&)>& take) const {
  return reader.load_keys([&](const KeyStored& key) {
    const bool is_wanted = selection_.is_everything() || with_key_.contains(key.job);
    return is_wanted ? take(key) : Status();
  });
}

DumpHeader Survey::header(const store::Reader& reader) const {
  DumpHeader header = {.version = version_,
                       .jobs = jobs_,
                       .next_id = reader.next_id(),
                       .commit = reader.commit(),
                       .selection = selection_};
  for (const auto& [id, tube] : tubes_) {
    if (!selection_.is_everything() && tube.job_count() == 0) continue;
    header.tubes.push_back(tube.name);
    if (!tube.pause) continue;
    header.pauses.push_back(
        {.tube = tube.name, .duration = tube.pause->pause, .end = tube.pause->until});
  }
  std::ranges::sort(header.tubes);
  std::ranges::sort(header.pauses, {}, &DumpPause::tube);
  std::ranges::copy_if(
      settings_, std::back_inserter(header.settings), [&](const SettingsStored& stored) {
        return selection_.is_everything() || std::ranges::binary_search(header.tubes, stored.tube);
      });
  return header;
}

Status Survey::add_tube(TubeId id, std::string_view name) {
  if (!wire::is_tube_name(name)) {
    return {StatusCode::Corruption,
            fmt::format("tube {} has a name that no client can give: run perennial check", id)};
  }
  tubes_[id].name = name;
  if (name == selection_.tube) wanted_tube_ = id;
  return {};
}

bool Survey::is_selected(const JobRow& row) const {
  if (!selection_.tube.empty() && row.tube != wanted_tube_) return false;
  if (selection_.state && row.state != *selection_.state) return false;
  return !selection_.id || row.id == *selection_.id;
}

void Survey::count(const JobRow& row) {
  TubeTotals& tube = tubes_.at(row.tube);
  tube.oldest = tube.job_count() == 0 ? row.created : std::min(tube.oldest, row.created);
  ++tube.jobs[static_cast<size_t>(row.state)];
  tube.bytes += row.body_bytes;
  ++jobs_[static_cast<size_t>(row.state)];
  ++job_count_;
  const bool has_key = row.fields && row.fields->key;
  if (has_key && !selection_.is_everything()) with_key_.insert(row.id);
  highest_id_ = row.id;
  if (!row.fields) return;
  if (row.fields->notes > 0 || has_history(*row.fields)) need(dump_version_with_notes);
  if (row.fields->schedule) need(dump_version_with_schedules);
}

Status Survey::check_found(const store::Reader& reader) const {
  if (!selection_.tube.empty() && !wanted_tube_) {
    return {StatusCode::NotFound, fmt::format("there is no tube {}", selection_.tube)};
  }
  if (selection_.id && job_count_ == 0 && selection_.limit != uint64_t{0}) {
    const bool was_used = *selection_.id < reader.next_id();
    return {StatusCode::NotFound,
            fmt::format("there is no job {}{}{}", *selection_.id,
                        selection_.tube.empty() && !selection_.state ? "" : " of those asked for",
                        was_used ? "" : "; ids so high were never given out")};
  }
  return {};
}

}  // namespace perennial::tool
