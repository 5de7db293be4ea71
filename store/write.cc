#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "store/batch/batch_codec.h"
#include "store/rocks/log_env.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// Turns the effects of a batch into rows.
namespace perennial::store {
namespace {

// The memory of a larger WriteBatch is freed after the write.
constexpr size_t kept_bytes_max = 16 << 20;

// Adds the writes to meta. It uses Delete, because SingleDelete is only allowed for rows that were
// written once, and the rows of meta are overwritten.
struct MetaWriter {
  rocksdb::WriteBatch& writes;
  rocksdb::ColumnFamilyHandle* meta;

  void put(std::string_view key, std::string_view value) const {
    must(writes.Put(meta, slice(key), slice(value)));
  }
  void remove(MetaTag tag, TubeId tube) const {
    must(writes.Delete(meta, slice(view(tube_key(tag, tube)))));
  }

  void operator()(const TubeStored& stored) const {
    put(view(tube_key(MetaTag::Tube, stored.tube)), encode(stored));
  }
  void operator()(const TubeEnded& ended) const {
    remove(MetaTag::Tube, ended.tube);
    remove(MetaTag::Pause, ended.tube);
  }
  void operator()(const TubePaused& paused) const {
    put(view(tube_key(MetaTag::Pause, paused.tube)), view(encode(paused)));
  }
  void operator()(const PauseEnded& ended) const { remove(MetaTag::Pause, ended.tube); }
  void operator()(const NextIdRaised& raised) const {
    put(view(meta_key(MetaTag::NextId)), view(encode_next_id(raised.next_id)));
  }
  void operator()(const SettingsStored& stored) const {
    const std::string key = settings_key(stored.tube);
    if (stored.settings == TubeSettings{}) {
      must(writes.Delete(meta, slice(key)));
    } else {
      put(key, encode(stored));
    }
  }
};

// Adds the writes to `keys`, with Delete for the same reason.
struct KeyWriter {
  rocksdb::WriteBatch& writes;
  rocksdb::ColumnFamilyHandle* keys;

  void operator()(const KeyStored& stored) const {
    must(
        writes.Put(keys, slice(key_row_key(stored.tube, stored.key)), slice(view(encode(stored)))));
  }
  void operator()(const KeyFreed& freed) const {
    must(writes.Delete(keys, slice(key_row_key(freed.tube, freed.key))));
  }
};

// Adds the writes to `notes`, with Delete for the same reason. A batch with notes finds the family.
struct NoteWriter {
  rocksdb::WriteBatch& writes;
  rocksdb::ColumnFamilyHandle* notes;

  void operator()(const NoteStored& stored) const {
    const auto key = note_key(stored.job, place_of_note(stored.note.number));
    must(writes.Put(notes, slice(view(key)), slice(encode(stored.note))));
  }
  void operator()(const NotesRemoved& removed) const {
    for (uint32_t place = 0; place < removed.kept; ++place) {
      must(writes.Delete(notes, slice(view(note_key(removed.job, place)))));
    }
  }
};

// Writes what a batch leaves of a schedule, with Delete for the same reason. A batch with schedules
// finds the family.
void write_schedule(rocksdb::WriteBatch& writes, rocksdb::ColumnFamilyHandle* family,
                    const ScheduleEffect& effect) {
  const std::string definition = schedule_key(ScheduleTag::Definition, effect.name);
  const std::string progress = schedule_key(ScheduleTag::Progress, effect.name);
  if (!effect.progress) {
    must(writes.Delete(family, slice(definition)));
    must(writes.Delete(family, slice(progress)));
    return;
  }
  if (effect.schedule) {
    must(writes.Put(family, slice(definition), slice(encode(*effect.schedule, effect.body))));
  }
  must(writes.Put(family, slice(progress), slice(view(encode(*effect.progress)))));
}

// The format that a database must have for what is in the batch.
uint32_t needed_format(const Batch& batch, uint32_t format) {
  if (format < format_with_schedules && has_schedules(batch)) return format_with_schedules;
  if (format < format_with_ended && has_ended(batch)) return format_with_ended;
  return format < format_with_notes && has_notes(batch) ? format_with_notes : format;
}

}  // namespace

// A row that stays in its family is also removed with SingleDelete before the Put. One Put over
// another would save an entry, but the next SingleDelete would remove only the newer one, and the
// older row would come back. RocksDB wiki, "Single Delete".
void Store::Impl::add_job(const JobEffect& job) {
  const auto key = job_key(job.id);
  const rocksdb::Slice key_part = slice(view(key));
  const rocksdb::SliceParts key_parts(&key_part, 1);
  if (job.before) remove_row(family_of(*job.before), view(key));
  if (job.after) {
    CHECK(job.after->id == job.id);
    const auto row = encode(*job.after);
    const rocksdb::Slice row_part = slice(view(row));
    put_row(family_of(job.after->state), key_parts, {&row_part, 1});
  }
  if (job.ended) put_ended(*job.ended);
  const bool is_there = job.after || job.ended;
  if (!job.before && is_there) {
    CHECK(job.body.size() == (job.ended ? job.ended->row.body_bytes : job.after->body_bytes));
    const auto hash = body_hash(job.id, job.body);
    // RocksDB joins the parts in its batch, so the body is copied once and not twice.
    const std::array<rocksdb::Slice, 2> parts = {slice(view(hash)), slice(job.body)};
    put_row(Family::Bodies, key_parts, {parts.data(), parts.size()});
  }
  if (job.before && !is_there) remove_row(Family::Bodies, view(key));
}

void Store::Impl::put_ended(const EndedJob& job) {
  const auto put = [this](Family family, std::string_view key, std::string_view value) {
    const rocksdb::Slice key_part = slice(key);
    const rocksdb::Slice value_part = slice(value);
    put_row(family, {&key_part, 1}, {&value_part, 1});
  };
  put(Family::Ended, view(job_key(job.row.id)), encode(job));
  put(Family::EndedOrder, ended_order_key(job.tube, job.place), view(encode(order_of(job))));
}

void Store::Impl::add_span(const std::string& tube, const EndedSpan& span) {
  rocksdb::ColumnFamilyHandle* const meta = db->family(Family::Meta);
  const std::string key = ended_span_key(tube);
  if (span.empty()) {
    must(writes.Delete(meta, slice(key)));
    ended_spans.erase(tube);
  } else {
    must(writes.Put(meta, slice(key), slice(view(encode(span)))));
    ended_spans[tube] = span;
  }
}

void Store::Impl::put_row(Family family, const rocksdb::SliceParts& key,
                          const rocksdb::SliceParts& value) {
  must(writes.Put(db->family(family), key, value));
  ++rows[place_of(family)];
}

void Store::Impl::remove_row(Family family, std::string_view key) {
  must(writes.SingleDelete(db->family(family), slice(key)));
  --rows[place_of(family)];
}

void Store::Impl::add_meta(MetaTag tag, std::string_view value) {
  must(writes.Put(db->family(Family::Meta), slice(view(meta_key(tag))), slice(value)));
}

void Store::Impl::add_commit_row() {
  add_meta(MetaTag::Commit, view(encode(applied)));
}

Status Store::Impl::write(bool sync) {
  if (failure.failed()) return failure.refusal();
  rocksdb::WriteOptions how;
  how.sync = sync;
  Status written = fail_on_error((*db)->Write(how, &writes), "write a batch");
  bytes_written.fetch_add(writes.GetDataSize(), std::memory_order_relaxed);
  db->on_written(writes.GetDataSize());
  if (writes.GetDataSize() > kept_bytes_max) writes = rocksdb::WriteBatch();
  if (!sync || !written.ok()) return written;
  durable = {.epoch = applied.epoch, .index = applied.index};
  return note_durable();
}

// RocksDB makes a family durable at once, and the version only with the batch. So after a crash
// families may be there and empty, in a database of a format before.
Status Store::Impl::begin_format(uint32_t next) {
  bool is_synced = false;
  for (const std::string_view name : families_of(next, options.families)) {
    if (db->has_family(name)) continue;
    // The family gets the number of the newest log file, and a start takes such a number as proof
    // that all older files were synced: Manifest::named_max().
    Status synced = is_synced ? Status() : sync();
    if (!synced.ok()) return synced;
    is_synced = true;
    Status made = fail_on_error(db->create_family(std::string(name), options));
    if (!made.ok()) return made;
  }
  return {};
}

// What becomes of a fault of the disk, such as EIO from the write or the sync of the log. It is
// final, and the process ends:
//
// - A second try proves nothing. After a failed fsync(2) the kernel counts the pages as clean, and
//   the next fsync succeeds although their bytes never reached the disk (fsync(2), "EIO"). Of a
//   failed write nobody knows how much is in the file, and RocksDB would append behind that.
// - The engine cannot take transitions back: memory is ahead of the disk from here on.
// - Clients have no answer to what is in this batch, and get none. So nothing acknowledged is lost.
//
// `failure` keeps the first fault. Each later write and sync is refused with it; the log raises no
// index any more, so that no reply leaves (LocalLog::publish()). The fatal event ends the process
// with exit code 74, or 75 for a full disk, without destructors: end_process(). The next start
// reads what the disk really has (store/recovery). RocksDB's own recovery from errors is switched
// off, and the errors of its threads end here, too: FailureListener in rocks/observer.cc.
Status Store::Impl::fail_on_error(Status status) {
  if (!status.ok()) failure.fail(status);
  return status;
}

Status Store::Impl::fail_on_error(const rocksdb::Status& status, std::string_view doing) {
  return fail_on_error(from_rocksdb(status).with(doing));
}

// A start takes a batch of a later epoch as proof that everything before that epoch was durable:
// log_scan.cc.
Status Store::Impl::finish_epoch(uint64_t next) {
  if (next == applied.epoch || durable.index == applied.index) return {};
  return sync();
}

Status Store::Impl::sync() {
  if (failure.failed()) return failure.refusal();
  if (Status synced = fail_on_error((*db)->SyncWAL(), "sync the log"); !synced.ok()) return synced;
  durable = {.epoch = applied.epoch, .index = applied.index};
  return note_durable();
}

Status Store::Impl::note_durable() {
  if (durable_mark == nullptr) return {};  // The store is not open yet.
  const LogProgress::Place synced = db->synced_log();
  return fail_on_error(durable_mark->write({.epoch = durable.epoch,
                                            .index = durable.index,
                                            .log_number = synced.number,
                                            .log_bytes = synced.bytes}));
}

Status Store::write(const Batch& batch, bool sync) {
  Impl& impl = *impl_;
  if (batch.index() <= impl.applied.index) return {};
  CHECK(batch.index() == impl.applied.index + 1);
  CHECK(batch.epoch() >= impl.applied.epoch);
  if (Status ready = impl.finish_epoch(batch.epoch()); !ready.ok()) return ready;
  const uint32_t format = needed_format(batch, impl.format);
  const bool raises_format = format != impl.format;
  if (raises_format) {
    if (Status begun = impl.begin_format(format); !begun.ok()) return begun;
  }
  impl.applied = {.epoch = batch.epoch(),
                  .index = batch.index(),
                  .known_durable = std::max(batch.known_durable(), impl.durable.index),
                  .now = batch.now()};
  impl.writes.Clear();
  impl.add_commit_row();  // It is first, so that a start can read it from a record that was torn.
  if (raises_format) {
    impl.add_meta(MetaTag::FormatVersion, view(encode_format_version(format)));
  }
  // They come first, because their places may be used again.
  Status removed = impl.fail_on_error(impl.remove_ended(batch));
  if (!removed.ok()) return removed;
  for (const JobEffect& job : batch.jobs()) impl.add_job(job);
  const MetaWriter meta = {.writes = impl.writes, .meta = impl.db->family(Family::Meta)};
  for (const MetaEffect& effect : batch.metas()) std::visit(meta, effect);
  const KeyWriter keys = {.writes = impl.writes, .keys = impl.db->family(Family::Keys)};
  for (const KeyEffect& effect : batch.keys()) std::visit(keys, effect);
  const NoteWriter notes = {.writes = impl.writes, .notes = impl.db->family(Family::Notes)};
  for (const NoteEffect& effect : batch.notes()) std::visit(notes, effect);
  for (const auto& [tube, span] : batch.spans()) impl.add_span(tube, span);
  rocksdb::ColumnFamilyHandle* const schedules = impl.db->family(Family::Schedules);
  for (const ScheduleEffect& effect : batch.schedules()) {
    write_schedule(impl.writes, schedules, effect);
  }
  Status written = impl.write(sync);
  if (!raises_format || !written.ok()) return written;
  const uint32_t before = std::exchange(impl.format, format);
  impl.inform("store.format", fmt::format("from={} to={}", before, impl.format));
  return written;
}

Status Store::sync() {
  return impl_->sync();
}

BatchIndex Store::applied() const {
  return impl_->applied.index;
}

BatchIndex Store::durable() const {
  return impl_->durable.index;
}

Status Store::note_durable() {
  return impl_->failure.failed() ? impl_->failure.refusal() : impl_->note_durable();
}

Status Store::sync_durable_mark() {
  return impl_->fail_on_error(impl_->durable_mark->sync());
}

}  // namespace perennial::store
