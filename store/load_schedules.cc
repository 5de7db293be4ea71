#include <memory>
#include <string_view>
#include <utility>

#include "store/load.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// Loads the two rows of each schedule.
namespace perennial::store {
namespace {

bool has_tag(const rocksdb::Iterator& at, ScheduleTag tag) {
  return at.Valid() && !at.key().empty() && at.key()[0] == static_cast<char>(tag);
}

// Decodes both rows of the schedule at which the iterators are, and steps over them.
Status load_schedule(
    rocksdb::Iterator& definition, rocksdb::Iterator& progress,
    const std::function<Status(const ScheduleStored&, std::string_view body)>& take) {
  Result<StoredSchedule> stored = decode_schedule(view(definition.key()), view(definition.value()));
  if (!stored.ok()) return stored.take_status();
  const std::string_view key = view(progress.key());
  const Result<ScheduleProgress> now = decode_schedule_progress(key, view(progress.value()));
  if (!now.ok()) return now.status();
  const std::string_view body = stored->body;
  if (take) {
    Status taken = take({.schedule = std::move(stored->schedule), .progress = *now}, body);
    if (!taken.ok()) return taken;
  }
  definition.Next();
  progress.Next();
  return {};
}

}  // namespace

// All definitions come before the progress of the first schedule, in the same order of names.
Status load_schedules(
    const Database& db,
    const std::function<Status(const ScheduleStored&, std::string_view body)>& take,
    uint64_t& count) {
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::Schedules);
  if (family == nullptr) return {};
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  const auto refuse = [](const rocksdb::Iterator& at, std::string_view what) {
    return damaged(Family::Schedules, view(at.key()), what);
  };
  const std::unique_ptr<rocksdb::Iterator> definition(db->NewIterator(how, family));
  const std::unique_ptr<rocksdb::Iterator> progress(db->NewIterator(how, family));
  definition->SeekToFirst();
  progress->Seek(rocksdb::Slice("p"));
  while (has_tag(*definition, ScheduleTag::Definition)) {
    if (!progress->status().ok()) return from_rocksdb(progress->status());
    const bool has_progress = has_tag(*progress, ScheduleTag::Progress);
    const int order =
        !has_progress ? -1
                      : view(definition->key()).substr(1).compare(view(progress->key()).substr(1));
    if (order < 0) return refuse(*definition, "a schedule without its progress");
    if (order > 0) return refuse(*progress, "a progress without its schedule");
    if (Status loaded = load_schedule(*definition, *progress, take); !loaded.ok()) return loaded;
    ++count;
  }
  for (const auto* const at : {definition.get(), progress.get()}) {
    if (!at->status().ok()) return from_rocksdb(at->status());
  }
  // Behind the definitions comes the first progress, and behind the last one nothing.
  if (definition->Valid() && !has_tag(*definition, ScheduleTag::Progress)) {
    return refuse(*definition, "unknown key");
  }
  if (!progress->Valid()) return {};
  const bool is_progress = has_tag(*progress, ScheduleTag::Progress);
  return refuse(*progress, is_progress ? "a progress without its schedule" : "unknown key");
}

}  // namespace perennial::store
