#include <functional>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "store/offline/check_parts.h"
#include "store/rocks/database.h"

// The check of the family schedules: both rows of each one are there, and are what was written.
namespace perennial::store {
namespace {

constexpr std::string_view bad_name = "the name is not one that a schedule can have";

class ScheduleCheck {
 public:
  ScheduleCheck(const MetaFacts& meta, CheckSummary& summary, FaultList& faults)
      : meta_(meta), summary_(summary), faults_(faults) {}

  void row(std::string_view key, std::string_view value);
  // Called after the last row.
  void finish() const;

 private:
  void definition(std::string_view key, std::string_view value);
  void progress(std::string_view key, std::string_view value);
  void check_names(std::string_view key, const Schedule& schedule);

  const MetaFacts& meta_;
  CheckSummary& summary_;
  FaultList& faults_;
  std::set<std::string, std::less<>> without_progress_;
};

// All definitions come before all rows of progress.
void ScheduleCheck::row(std::string_view key, std::string_view value) {
  const auto tag = static_cast<ScheduleTag>(key.empty() ? '\0' : key.front());
  if (tag == ScheduleTag::Definition) return definition(key, value);
  if (tag == ScheduleTag::Progress) return progress(key, value);
  faults_.add(Family::Schedules, key, "unknown key");
}

void ScheduleCheck::definition(std::string_view key, std::string_view value) {
  ++summary_.schedules;
  without_progress_.emplace(key.substr(1));
  const Result<StoredSchedule> stored = decode_schedule(key, value);
  if (!stored.ok()) return faults_.add(Family::Schedules, key, stored.status());
  check_names(key, stored->schedule);
}

void ScheduleCheck::check_names(std::string_view key, const Schedule& schedule) {
  const auto check = [&](std::string_view name, std::string_view what) {
    faults_.check_name(Family::Schedules, key, name, what);
  };
  check(schedule.name, bad_name);
  check(schedule.tube, "the name of its tube is not one that a tube can have");
  if (!schedule.put.options) return;
  const PutOptions& options = *schedule.put.options;
  if (!options.dead.empty()) {
    check(options.dead, "the dead tube has a name that no tube can have");
  }
  if (options.key) check(options.key->key, "the key is not one that a job can have");
  if (options.concurrency) {
    check(options.concurrency->key, "the concurrency key is not one that a job can have");
  }
}

void ScheduleCheck::progress(std::string_view key, std::string_view value) {
  const auto known = without_progress_.find(key.substr(1));
  if (known == without_progress_.end()) {
    ++summary_.schedules;
    faults_.add(Family::Schedules, key, "a progress without its schedule");
  } else {
    without_progress_.erase(known);
  }
  const Result<ScheduleProgress> now = decode_schedule_progress(key, value);
  if (!now.ok()) return faults_.add(Family::Schedules, key, now.status());
  if (now->last_job < meta_.next_id) return;
  faults_.add(Family::Schedules, key,
              fmt::format("job {} is not below the next id, {}", now->last_job, meta_.next_id));
}

void ScheduleCheck::finish() const {
  for (const std::string& name : without_progress_) {
    const std::string key = static_cast<char>(ScheduleTag::Definition) + name;
    faults_.add(Family::Schedules, key, "a schedule without its progress");
  }
}

}  // namespace

void check_schedules(const Database& db, const MetaFacts& meta, CheckSummary& summary,
                     FaultList& faults) {
  if (db.family(Family::Schedules) == nullptr) return;
  ScheduleCheck check(meta, summary, faults);
  const bool is_whole =
      check_each_row(db, Family::Schedules, faults,
                     [&](std::string_view key, std::string_view value) { check.row(key, value); });
  if (is_whole) check.finish();
}

}  // namespace perennial::store
