#include "store/recovery/point_in_time.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace perennial::store {
namespace {

struct FlushedFamily {
  std::string_view name;
  uint64_t log = 0;  // Its rows in log files with lower numbers are in its tables.
};

std::string_view name_in_messages(std::string_view name) {
  return name == family_names[place_of(Family::Meta)] ? "meta" : name;
}

// Whether nothing of it was flushed since it was made, so that it has no tables. The number that it
// got then says nothing of its rows.
bool has_no_tables(const Manifest& manifest, uint32_t id, std::optional<uint64_t> log) {
  const auto made = manifest.made_at.find(id);
  return made != manifest.made_at.end() && log.value_or(0) <= made->second;
}

// By the name in a database.
bool is_part_of_jobs_named(std::string_view name) {
  const std::optional<Family> family = family_named(name);
  return family && is_part_of_jobs(*family);
}

// All families that may have tables and are no parts of jobs. Rows of later of the others are told
// from the rest when they are compared with jobs: forced_start.cc. The number of a family without
// rows is not kept up to date, but RocksDB replays no log file below min_log.
std::vector<FlushedFamily> state_families(const Manifest& manifest) {
  std::vector<FlushedFamily> out;
  for (const auto& [id, log] : manifest.flushed_to) {
    const auto name = manifest.names.find(id);
    const auto known = name == manifest.names.end() ? std::string_view() : name->second;
    if (is_part_of_jobs_named(known) || has_no_tables(manifest, id, log)) continue;
    out.push_back({.name = known, .log = std::max(log.value_or(0), manifest.min_log)});
  }
  return out;
}

// How far the other families are flushed.
uint64_t compared_log(const Manifest& manifest) {
  uint64_t highest = manifest.min_log;
  for (const auto& [id, name] : manifest.names) {
    if (!is_part_of_jobs_named(name)) continue;
    const auto log = manifest.flushed_to.find(id);
    if (log != manifest.flushed_to.end()) highest = std::max(highest, log->second.value_or(0));
  }
  return highest;
}

// Returns the highest number for which it is certain that the file with the number begins at the
// end of history or before it.
uint64_t reached_log(const Manifest& manifest, const LogFound& found) {
  if (found.files.empty()) return manifest.needed_from();
  if (!found.history.damage) return found.files.back().number;
  if (found.history.has_records) return found.files[found.history.end.file].number;
  return found.lacks_oldest ? manifest.needed_from() : found.files.front().number;
}

// Whether history ends exactly where meta was flushed, so that a family that was flushed up to the
// same file ends there, too. The commit rows of both are equal then.
bool ends_where_meta_ends(const std::vector<FlushedFamily>& families, const LogFound& found) {
  const auto meta =
      std::ranges::find(families, family_names[place_of(Family::Meta)], &FlushedFamily::name);
  const bool is_last = meta != families.end() &&
                       meta->log == std::ranges::max(families, {}, &FlushedFamily::log).log;
  return is_last && found.history.has_records && found.flushed &&
         found.history.last == found.flushed;
}

std::string join(const std::vector<FlushedFamily>& families) {
  std::string out;
  for (const FlushedFamily& family : families) {
    out += fmt::format("{}{}", out.empty() ? "" : ", ", name_in_messages(family.name));
  }
  return out;
}

}  // namespace

PointInTime find_point_in_time(const Manifest& manifest, const LogFound& found) {
  std::vector<FlushedFamily> families = state_families(manifest);
  const uint64_t reached = reached_log(manifest, found);
  const uint64_t needed = manifest.needed_from();
  const bool is_exact = !found.lacks_oldest && ends_where_meta_ends(families, found);
  std::erase_if(families, [&](const FlushedFamily& family) {
    return found.lacks_oldest ? family.log == needed : is_exact || family.log <= reached;
  });
  if (families.empty()) {
    return {.problem = {}, .has_later_bodies = compared_log(manifest) > reached};
  }
  return {.problem = fmt::format("no state of the past can be restored, because the tables of {} "
                                 "may hold later rows than the rest of the log can give the others",
                                 join(families)),
          .has_later_bodies = false};
}

}  // namespace perennial::store
