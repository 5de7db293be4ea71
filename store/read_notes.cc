#include "store/read_notes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/damage/damaged_blocks.h"
#include "store/format/format.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// Leaves out notes that another has taken the place of: such a row is back when the newer one was
// in a damaged block. The job may count more than the newest one here, so that one may stay.
void leave_kept(std::vector<Note>& notes) {
  if (notes.empty()) return;
  const uint32_t newest = notes.back().number;
  std::erase_if(notes, [&](const Note& note) { return !is_kept(note.number, newest); });
}

}  // namespace

// One iterator, and not a Get() for each place: it sees all places as of one moment.
Result<NotesFound> read_notes(const Database& db, rocksdb::ReadOptions how, JobId id,
                              bool& is_of_table) {
  is_of_table = false;
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::Notes);
  if (family == nullptr) return NotesFound();
  const Bytes<note_key_bytes> first = note_key(id, 0);
  const Bytes<note_key_bytes> last = note_key(id, notes_max - 1);
  const std::string end = std::string(view(last)) + '\0';  // The first key behind the last place.
  const rocksdb::Slice bound = slice(end);
  how.iterate_upper_bound = &bound;
  const TableErrors errors;
  const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, family));
  NotesFound out;
  for (at->Seek(slice(view(first))); at->Valid(); at->Next()) {
    Result<NoteStored> row = decode_note(view(at->key()), view(at->value()));
    if (row.ok()) {
      out.notes.push_back(std::move(row->note));
    } else {
      out.problems.push_back(row.take_status());
    }
  }
  if (!at->status().ok()) {
    is_of_table = errors.contains(at->status());
    Status read = from_rocksdb(at->status());
    if (!at->status().IsCorruption()) {
      return std::move(read).with(fmt::format("read the notes of job {}", id));
    }
    return damaged(Family::Notes, view(first), read.message());
  }
  std::ranges::sort(out.notes, {}, &Note::number);
  leave_kept(out.notes);
  return out;
}

}  // namespace perennial::store
