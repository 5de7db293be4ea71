#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "store/salvage/salvage.h"

// What a salvage reads of the family `schedules`.
namespace perennial::store {
namespace {

// What is left of one of the two rows of a schedule.
struct RowLeft {
  KeyTrace trace;
  bool decodes = false;

  // The newest row that was written, and nothing can have replaced or removed it.
  bool is_certain() const { return trace.is_put() && !trace.may_hide_newer() && decodes; }
  bool is_gone() const {
    return trace.newest == KeyTrace::Newest::Removal && !trace.may_hide_newer();
  }
  bool was_never_there() const {
    return trace.newest == KeyTrace::Newest::None && trace.hidden_time == 0;
  }
};

struct ScheduleLeft {
  RowLeft definition;
  RowLeft progress;
  ScheduleProgress now;
};

}  // namespace

// A schedule without its progress, or with an older one, would put jobs again that were put. So it
// comes back only with both rows as they were written last. Both are removed in one batch, so that
// the removal of one says that the other is gone, too.
Status Salvage::read_schedules() {
  std::map<std::string, ScheduleLeft> left;
  FamilyMerge rows = rows_of(Family::Schedules);
  for (auto lowest = rows.lowest(); lowest; lowest = rows.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = rows.take(key);
    const auto tag = static_cast<ScheduleTag>(key.empty() ? '\0' : key.front());
    const Result<std::string_view> name = decode_schedule_key(tag, key);
    if (!name.ok()) continue;
    ScheduleLeft& one = left[std::string(*name)];
    if (tag == ScheduleTag::Definition) {
      one.definition = {.trace = found.trace, .decodes = decode_schedule(key, found.value).ok()};
    } else if (tag == ScheduleTag::Progress) {
      const Result<ScheduleProgress> now = decode_schedule_progress(key, found.value);
      one.progress = {.trace = found.trace, .decodes = now.ok()};
      if (now.ok()) one.now = *now;
    } else {
      left.erase(std::string(*name));
    }
  }
  if (!rows.status().ok()) return rows.status();
  for (const auto& [name, one] : left) {
    if (one.definition.is_certain() && one.progress.is_certain()) {
      id_max_ = std::max(id_max_, one.now.last_job);
      schedules_.emplace(name, one.now);
      continue;
    }
    const bool is_gone = one.definition.is_gone() || one.progress.is_gone() ||
                         (one.definition.was_never_there() && one.progress.was_never_there());
    if (!is_gone) account_.schedules_lost.add(name);
  }
  account_.schedules = schedules_.size();
  return {};
}

Status Salvage::each_schedule(
    const std::function<Status(const ScheduleStored&, std::string_view body)>& take) const {
  uint64_t count = 0;
  FamilyMerge rows = rows_of(Family::Schedules);
  for (auto lowest = rows.lowest(); lowest; lowest = rows.lowest()) {
    const std::string key(*lowest);
    const FamilyMerge::Key found = rows.take(key);
    if (key.front() != static_cast<char>(ScheduleTag::Definition)) continue;
    const auto known = schedules_.find(key.substr(1));
    if (known == schedules_.end()) continue;
    Result<StoredSchedule> stored = decode_schedule(key, found.value);
    if (!stored.ok()) return stored.take_status();
    ++count;
    const std::string_view body = stored->body;
    Status taken = take({.schedule = std::move(stored->schedule), .progress = known->second}, body);
    if (!taken.ok()) return taken;
  }
  if (!rows.status().ok()) return rows.status();
  if (count == schedules_.size()) return {};
  return {StatusCode::Corruption, fmt::format("{} schedules could be read before, and {} can now",
                                              schedules_.size(), count)};
}

}  // namespace perennial::store
