#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "engine/types/logfmt.h"
#include "store/read_ended.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// What a store does about damaged blocks of notes: P11. store/damage keeps them from RocksDB.
namespace perennial::store {
namespace {

// Rows of notes that no job keeps, by their keys.
using Orphans = std::vector<std::string>;

// How many notes a job that has ended has had; 0 if there is none. None: its row cannot be read, so
// that its notes stay.
std::optional<uint32_t> had_ended(const Database& db, JobId id) {
  EndedAccess access = {.db = db};
  const Result<std::optional<EndedJob>> job = read_ended_row(access, id);
  if (!job.ok()) return std::nullopt;
  return job->has_value() && (*job)->row.fields ? (*job)->row.fields->notes : 0;
}

// Passes over the notes of a range. `at`: the place of the first of the jobs in all ranges that was
// not compared yet. A row that does not decode is left to its job: it is no older row.
rocksdb::Status compare_range(const Database& db, const DamagedIds::Range& range,
                              const DamagedNotes& damaged, size_t& at, Orphans& out) {
  const std::vector<JobId>& jobs = damaged.ids.jobs();
  rocksdb::ReadOptions how;
  how.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> notes(db->NewIterator(how, db.family(Family::Notes)));
  for (notes->Seek(slice(view(note_key(range.first, 0)))); notes->Valid(); notes->Next()) {
    const std::string_view key = view(notes->key());
    const Result<JobId> id = decode_note_key(key);
    if (!id.ok()) continue;
    if (*id > range.last) break;
    while (at < jobs.size() && jobs[at] < *id) ++at;
    const bool is_there = at < jobs.size() && jobs[at] == *id;
    const auto had = is_there ? std::optional(damaged.had[at]) : had_ended(db, *id);
    if (!had) continue;
    const Result<NoteStored> row = decode_note(key, view(notes->value()));
    if (*had == 0 || (row.ok() && !is_kept(row->note.number, *had))) out.emplace_back(key);
  }
  return notes->status();
}

rocksdb::Status find_orphans(const Database& db, const DamagedNotes& damaged, Orphans& out) {
  out.clear();
  size_t at = 0;
  for (const DamagedIds::Range& range : damaged.ids.ranges()) {
    rocksdb::Status read = compare_range(db, range, damaged, at, out);
    if (!read.ok()) return read;
  }
  return rocksdb::Status::OK();
}

}  // namespace

// Removes notes that no job keeps: such a row is back when its deletion, or the one that took its
// place, was in a damaged block. When nothing is back and the damaged tables are gone, the damage
// is over: a note that is lost is only missing. No start needs a note, so that what cannot be read
// here is left for the next one.
Status Store::Impl::compare_notes(const DamagedNotes& damaged) {
  if (db->family(Family::Notes) == nullptr) return {};
  Orphans orphans;
  const TableErrors errors;
  rocksdb::Status read = find_orphans(*db, damaged, orphans);
  while (errors.contains(read)) {
    for (const auto& range : damaged.ids.ranges()) {
      containment.suspect(Family::Notes, range.first, range.last);
    }
    if (!containment.check_suspects(**db)) break;
    read = find_orphans(*db, damaged, orphans);
  }
  if (!read.ok()) {
    inform("store.damage_of_notes",
           fmt::format("problem={}", logfmt_text(from_rocksdb(read).message())));
    return {};
  }
  if (!orphans.empty()) {
    writes.Clear();
    add_commit_row();
    for (const std::string& key : orphans) {
      must(writes.Delete(db->family(Family::Notes), slice(key)));
    }
    if (Status written = write(true); !written.ok()) return written;
  }
  const std::vector<DamagedBlock> blocks = containment.blocks();
  inform("store.damage_of_notes",
         fmt::format("blocks={} removed={}",
                     std::ranges::count(blocks, Family::Notes, &DamagedBlock::family),
                     orphans.size()));
  return orphans.empty() ? containment.forget(**db, Family::Notes) : Status();
}

}  // namespace perennial::store
