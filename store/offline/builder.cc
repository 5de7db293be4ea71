#include "store/offline/builder.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/write_batch.h>
#include <sys/stat.h>

#include "store/disk/data_dir.h"
#include "store/rocks/database.h"
#include "store/rocks/log_env.h"
#include "store/rocks/observer.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr size_t batch_bytes_max = 4 << 20;
// The memory of a larger batch is freed after the write.
constexpr size_t batch_bytes_kept_max = 16 << 20;

// Returns the path to rename to, without a symbolic link or a slash at its end.
Result<std::string> check_target_path(const std::string& raw_path) {
  if (raw_path.empty()) return Status(StatusCode::InvalidArgument, "no data directory given");
  std::error_code error;
  const fs::path path = fs::is_symlink(raw_path, error) ? fs::canonical(raw_path, error)
                                                        : fs::absolute(raw_path, error);
  if (error) return from_errno(error.value(), "find " + raw_path);
  std::string out = path.lexically_normal();
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

Status check_target(const std::string& path) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (!fs::status_known(there)) return from_errno(error.value(), "look at " + path);
  if (!fs::exists(there)) return {};
  if (!fs::is_directory(there)) {
    return {StatusCode::InvalidArgument, path + " is there already, and is no directory"};
  }
  const bool is_empty = fs::is_empty(path, error);
  if (error) return from_errno(error.value(), "read directory " + path);
  if (is_empty) return {};
  return {StatusCode::InvalidArgument,
          path + " is not empty: name a directory that is not there yet, or an empty one"};
}

}  // namespace

struct Builder::Impl {
  Impl(Builder::Options given, std::string final_path, DataDir locked)
      : events(std::move(given.events)),
        path(std::move(final_path)),
        dir(std::move(locked)),
        failure(events) {
    options.env = given.env;
    options.events = events;
  }

  Status create_db();
  Status write_if_full();
  Status write(bool durably);
  Status flush();
  // Called before something is added that needs this format.
  Status begin_format(uint32_t needed);
  // Called before the row of a job is added, ended or not.
  Status begin_format_of(const JobRow& row);
  // Adds the body of the job, whose notes may follow.
  Status add_body(const JobRow& row, std::string_view body);
  void put(Family family, std::string_view key, std::string_view value);
  void put_meta(MetaTag tag, std::string_view value);

  const Events events;
  const std::string path;
  store::Options options;
  DataDir dir;
  StoreFailure failure;
  std::optional<Database> db;
  rocksdb::WriteBatch writes;
  std::map<std::string, TubeId, std::less<>> tubes;
  TubeId next_tube = 1;
  JobId last_id = 0;
  JobId last_ended_id = 0;
  JobId noted_job = 0;                     // The job whose notes may follow,
  uint32_t last_notes = 0;                 // and how many it counts.
  std::map<std::string, EndedSpan> ended;  // By tube.
  uint32_t format = format_base;
  JobId last_key_job = 0;       // The highest id that a key names,
  JobId last_schedule_job = 0;  // and that a schedule does.
  bool published = false;
};

Result<std::unique_ptr<Builder>> Builder::begin(Options options) {
  ::umask(0077);  // RocksDB creates its files with the process's umask.
  Result<std::string> path = check_target_path(options.path);
  if (!path.ok()) return path.take_status();
  if (Status free = check_target(*path); !free.ok()) return free;
  Result<DataDir> dir = DataDir::open(*path + ".loading");
  if (!dir.ok()) return dir.take_status();
  auto impl = std::make_unique<Impl>(std::move(options), path.take(), dir.take());
  std::unique_ptr<Builder> builder(new Builder(std::move(impl)));
  if (Status created = builder->impl_->create_db(); !created.ok()) {
    return std::move(created).with("make " + builder->impl_->dir.path());
  }
  return builder;
}

Builder::Builder(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Builder::~Builder() {
  impl_->db.reset();
  if (impl_->published) return;
  std::error_code error;  // The next attempt replaces what cannot be removed now.
  fs::remove_all(impl_->dir.path(), error);
}

Result<TubeId> Builder::tube(std::string_view name) {
  Impl& impl = *impl_;
  const auto known = impl.tubes.find(name);
  if (known != impl.tubes.end()) return known->second;
  const TubeStored stored = {.tube = name == "default" ? 0 : impl.next_tube,
                             .name = std::string(name)};
  if (const auto wrong = problem(stored); !wrong.empty()) {
    return Status(StatusCode::InvalidArgument, std::string(wrong));
  }
  if (stored.tube != 0) ++impl.next_tube;
  impl.tubes.emplace(stored.name, stored.tube);
  impl.put(Family::Meta, view(tube_key(MetaTag::Tube, stored.tube)), encode(stored));
  if (Status written = impl.write_if_full(); !written.ok()) return written;
  return stored.tube;
}

Status Builder::add_pause(const TubePaused& pause) {
  if (const auto wrong = problem(pause); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  impl_->put(Family::Meta, view(tube_key(MetaTag::Pause, pause.tube)), view(encode(pause)));
  return impl_->write_if_full();
}

Status Builder::add_settings(const SettingsStored& stored) {
  if (const auto wrong = problem(stored); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  if (keeps_ended(stored.settings)) {
    if (Status begun = impl_->begin_format(format_with_ended); !begun.ok()) return begun;
  }
  impl_->put(Family::Meta, settings_key(stored.tube), encode(stored));
  return impl_->write_if_full();
}

Status Builder::add_key(const KeyStored& key) {
  if (const auto wrong = problem(key); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  impl_->last_key_job = std::max(impl_->last_key_job, key.job);
  impl_->put(Family::Keys, key_row_key(key.tube, key.key), view(encode(key)));
  return impl_->write_if_full();
}

Status Builder::add_schedule(const ScheduleStored& stored, std::string_view body) {
  const Schedule& schedule = *stored.schedule;
  std::string_view wrong = problem(schedule);
  if (wrong.empty()) wrong = problem(stored.progress);
  if (!wrong.empty()) return {StatusCode::InvalidArgument, std::string(wrong)};
  if (Status begun = impl_->begin_format(format_with_schedules); !begun.ok()) return begun;
  impl_->last_schedule_job = std::max(impl_->last_schedule_job, stored.progress.last_job);
  impl_->put(Family::Schedules, schedule_key(ScheduleTag::Definition, schedule.name),
             encode(schedule, body));
  impl_->put(Family::Schedules, schedule_key(ScheduleTag::Progress, schedule.name),
             view(encode(stored.progress)));
  return impl_->write_if_full();
}

Status Builder::Impl::begin_format_of(const JobRow& row) {
  return row.fields && row.fields->schedule ? begin_format(format_with_schedules) : Status();
}

Status Builder::add_job(const JobRow& row, std::string_view body) {
  if (const auto wrong = problem(row); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  CHECK(row.id > impl_->last_id);
  impl_->last_id = row.id;
  if (row.fields && has_history(*row.fields)) {
    if (Status begun = impl_->begin_format(format_with_ended); !begun.ok()) return begun;
  }
  if (Status begun = impl_->begin_format_of(row); !begun.ok()) return begun;
  impl_->put(family_of(row.state), view(job_key(row.id)), view(encode(row)));
  return impl_->add_body(row, body);
}

Status Builder::add_ended(const EndedJob& job, std::string_view body) {
  if (const auto wrong = problem(job); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  CHECK(job.row.id > impl_->last_ended_id);
  impl_->last_ended_id = job.row.id;
  if (Status begun = impl_->begin_format(format_with_ended); !begun.ok()) return begun;
  if (Status begun = impl_->begin_format_of(job.row); !begun.ok()) return begun;
  impl_->put(Family::Ended, view(job_key(job.row.id)), encode(job));
  impl_->put(Family::EndedOrder, ended_order_key(job.tube, job.place), view(encode(order_of(job))));
  const auto [span, is_first] =
      impl_->ended.try_emplace(job.tube, EndedSpan{.first = job.place, .next = job.place + 1});
  span->second.first = std::min(span->second.first, job.place);
  span->second.next = std::max(span->second.next, job.place + 1);
  return impl_->add_body(job.row, body);
}

Status Builder::Impl::add_body(const JobRow& row, std::string_view body) {
  CHECK(row.body_bytes == body.size());
  noted_job = row.id;
  last_notes = row.fields ? row.fields->notes : 0;
  if (last_notes > 0) {
    if (Status begun = begin_format(format_with_notes); !begun.ok()) return begun;
  }
  const auto key = job_key(row.id);
  const auto hash = body_hash(row.id, body);
  const rocksdb::Slice key_part = slice(view(key));
  const std::array<rocksdb::Slice, 2> value = {slice(view(hash)), slice(body)};
  must(writes.Put(db->family(Family::Bodies), rocksdb::SliceParts(&key_part, 1),
                  rocksdb::SliceParts(value.data(), value.size())));
  return write_if_full();
}

Status Builder::add_note(JobId job, const Note& note) {
  CHECK(job == impl_->noted_job);
  if (const auto wrong = problem(NoteStored{.job = job, .note = note}); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  if (!is_kept(note.number, impl_->last_notes)) {
    return {StatusCode::InvalidArgument,
            fmt::format("job {} counts {} notes, and keeps none with the number {}", job,
                        impl_->last_notes, note.number)};
  }
  impl_->put(Family::Notes, view(note_key(job, place_of_note(note.number))), encode(note));
  return impl_->write_if_full();
}

Status Builder::publish(const CommitRow& commit, JobId next_id) {
  Impl& impl = *impl_;
  if (const auto wrong = problem(commit); !wrong.empty()) {
    return {StatusCode::InvalidArgument, std::string(wrong)};
  }
  const JobId last = std::max(impl.last_id, impl.last_ended_id);
  if (next_id <= last) {
    return {StatusCode::InvalidArgument,
            fmt::format("next id {} is not above the id of job {}", next_id, last)};
  }
  if (next_id <= impl.last_key_job) {
    return {StatusCode::InvalidArgument,
            fmt::format("next id {} is not above the id of job {}, which a key names", next_id,
                        impl.last_key_job)};
  }
  if (next_id <= impl.last_schedule_job) {
    return {StatusCode::InvalidArgument,
            fmt::format("next id {} is not above the id of job {}, which a schedule names", next_id,
                        impl.last_schedule_job)};
  }
  for (const auto& [tube, span] : impl.ended) {
    impl.put(Family::Meta, ended_span_key(tube), view(encode(span)));
  }
  impl.put_meta(MetaTag::Commit, view(encode(commit)));
  impl.put_meta(MetaTag::FormatVersion, view(encode_format_version(impl.format)));
  impl.put_meta(MetaTag::NextId, view(encode_next_id(next_id)));
  if (Status written = impl.write(false); !written.ok()) return written;
  if (Status flushed = impl.flush(); !flushed.ok()) return flushed;
  // The commit row is written again, so that the log is not empty, as after a clean stop. A start
  // compares the log with the tables, and so detects lost tables.
  impl.put_meta(MetaTag::Commit, view(encode(commit)));
  if (Status written = impl.write(true); !written.ok()) return written;
  if (Status closed = impl.db->close(); !closed.ok()) return closed;
  if (Status failed = impl.failure.arm(); !failed.ok()) return failed;
  rocksdb::FileSystem& files = file_system_of(impl.options.env);
  if (Status removed = remove_log_mark(files, impl.dir.new_db_path()); !removed.ok())
    return removed;
  if (Status named = impl.dir.publish_new_db(); !named.ok()) return named;
  if (std::rename(impl.dir.path().c_str(), impl.path.c_str()) != 0) {
    return from_errno(errno, "rename " + impl.dir.path() + " to " + impl.path);
  }
  impl.published = true;
  return sync_dir(fs::path(impl.path).parent_path());
}

// Makes the database as db.new, because it is not complete. An existing db/ was left by a crash
// just before the last rename.
Status Builder::Impl::create_db() {
  std::error_code error;
  fs::remove_all(dir.db_path(), error);
  if (error) return from_errno(error.value(), "remove " + dir.db_path());
  if (Status begun = dir.begin_new_db(); !begun.ok()) return begun;
  Result<Database> made = Database::create(dir.new_db_path(), options, failure);
  if (!made.ok()) return made.take_status();
  db.emplace(made.take());
  return {};
}

Status Builder::Impl::begin_format(uint32_t needed) {
  if (format >= needed) return {};
  for (const std::string_view name : families_of(needed, options.families)) {
    if (db->has_family(name)) continue;
    Status made = db->create_family(std::string(name), options);
    if (!made.ok()) return std::move(made).with("write to " + dir.path());
  }
  format = needed;
  return {};
}

Status Builder::Impl::write_if_full() {
  return writes.GetDataSize() < batch_bytes_max ? Status() : write(false);
}

// Writes without the log unless `durably` is set, because nothing has to survive a crash before
// publish().
Status Builder::Impl::write(bool durably) {
  rocksdb::WriteOptions how;
  how.disableWAL = !durably;
  how.sync = durably;
  Status written = from_rocksdb((*db)->Write(how, &writes));
  const bool was_large = writes.GetDataSize() > batch_bytes_kept_max;
  writes.Clear();
  if (was_large) writes = rocksdb::WriteBatch();
  if (!written.ok()) return std::move(written).with("write to " + dir.path());
  return failure.failed() ? failure.arm() : Status();
}

Status Builder::Impl::flush() {
  return from_rocksdb(db->flush()).with("write to " + dir.path());
}

void Builder::Impl::put(Family family, std::string_view key, std::string_view value) {
  must(writes.Put(db->family(family), slice(key), slice(value)));
}

void Builder::Impl::put_meta(MetaTag tag, std::string_view value) {
  put(Family::Meta, view(meta_key(tag)), value);
}

}  // namespace perennial::store
