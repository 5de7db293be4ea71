#include "store/read_notes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/format/format.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {

// One iterator, and not a Get() for each place: it sees all places as of one moment.
Result<std::vector<Note>> read_notes(const Database& db, rocksdb::ReadOptions how, JobId id) {
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::Notes);
  if (family == nullptr) return std::vector<Note>();
  const Bytes<note_key_bytes> first = note_key(id, 0);
  const Bytes<note_key_bytes> last = note_key(id, notes_max - 1);
  const std::string end = std::string(view(last)) + '\0';  // The first key behind the last place.
  const rocksdb::Slice bound = slice(end);
  how.iterate_upper_bound = &bound;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, family));
  std::vector<Note> out;
  for (at->Seek(slice(view(first))); at->Valid(); at->Next()) {
    Result<NoteStored> row = decode_note(view(at->key()), view(at->value()));
    if (!row.ok()) return row.take_status();
    out.push_back(std::move(row->note));
  }
  if (!at->status().ok()) {
    Status read = from_rocksdb(at->status());
    if (!at->status().IsCorruption()) {
      return std::move(read).with(fmt::format("read the notes of job {}", id));
    }
    return damaged(Family::Notes, view(first), read.message());
  }
  std::ranges::sort(out, {}, &Note::number);
  return out;
}

}  // namespace perennial::store
