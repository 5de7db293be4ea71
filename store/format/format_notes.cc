#include <string>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/format.h"

// The rows of the family `notes`.
namespace perennial::store {
namespace {

// The offset of each part of a note's row. README.md draws the row.
namespace note_at {
constexpr size_t unused = 1, number = 4, attempt = 8, time = 12, user_bytes = 20, user = 21;
}  // namespace note_at

}  // namespace

std::string_view problem(const Note& note) {
  if (note.number == 0) return "a note with the number 0";
  if (note.time < 0) return "a note from before the epoch";
  if (note.user.size() > note_user_bytes_max) return "the name of the note's user is too long";
  if (note.text.empty()) return "a note without a text";
  return note.text.size() > note_bytes_max ? "the note is too long" : "";
}

std::string_view problem(const NoteStored& stored) {
  return stored.job == 0 ? "job id is 0" : problem(stored.note);
}

std::string_view problem(const NotesRemoved& removed) {
  if (removed.job == 0) return "job id is 0";
  const bool is_in_range = 0 < removed.kept && removed.kept <= notes_max;
  return is_in_range ? "" : "a number of notes that no job has";
}

Bytes<note_key_bytes> note_key(JobId job, uint32_t place) {
  CHECK(place < notes_max);
  Bytes<note_key_bytes> key;
  put_big_endian(key.data(), job);
  put(key.data() + sizeof job, static_cast<uint8_t>(place));
  return key;
}

Result<JobId> decode_note_key(std::string_view key) {
  if (key.size() != note_key_bytes) return damaged(Family::Notes, key, "key of the wrong length");
  return get_big_endian<JobId>(key.substr(0, sizeof(JobId)));
}

std::string encode(const Note& note) {
  CHECK(problem(note).empty());
  static_assert(note_user_bytes_max <= UINT8_MAX);
  Bytes<note_at::user> head = {};
  put(head.data(), row_format);
  put(head.data() + note_at::number, note.number);
  put(head.data() + note_at::attempt, note.attempt);
  put(head.data() + note_at::time, note.time);
  put(head.data() + note_at::user_bytes, static_cast<uint8_t>(note.user.size()));
  std::string value;
  value.reserve(head.size() + note.user.size() + note.text.size());
  value += view(head);
  value += note.user;
  value += note.text;
  return value;
}

Result<NoteStored> decode_note(std::string_view key, std::string_view value) {
  const auto refuse = [key](std::string_view what) { return damaged(Family::Notes, key, what); };
  const Result<JobId> job = decode_note_key(key);
  if (!job.ok()) return job.status();
  if (value.size() < note_at::user) return refuse("wrong length");
  std::string_view wrong = shape_problem(value, value.size(), note_at::number);
  if (!wrong.empty()) return refuse(wrong);
  const std::string_view texts = value.substr(note_at::user);
  const auto user_bytes = get<uint8_t>(value, note_at::user_bytes);
  if (user_bytes > texts.size()) return refuse("the name of the note's user is cut off");
  NoteStored out = {.job = *job,
                    .note = {.number = get<uint32_t>(value, note_at::number),
                             .attempt = get<uint32_t>(value, note_at::attempt),
                             .time = get<Nanos>(value, note_at::time),
                             .user = std::string(texts.substr(0, user_bytes)),
                             .text = std::string(texts.substr(user_bytes))}};
  wrong = problem(out);
  if (!wrong.empty()) return refuse(wrong);
  const auto place = static_cast<uint8_t>(key.back());
  if (place != place_of_note(out.note.number)) return refuse("a note in the place of another");
  return out;
}

}  // namespace perennial::store
