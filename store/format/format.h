#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"

// The home of numbers that reach the disk, with fields.h. A number is never changed and never
// reused; a retired value stays as a comment. README.md draws every key and value, and
// tests/store/format/format_test.cc pins the values.
//
// Keys are big-endian, so that they sort; numbers in values are little-endian. Values start with a
// format byte, except that bodies start with their hash. Unused bytes are zero, and each read
// checks that. One validator per record serves twice: a failure before a write is a CHECK, and a
// failure after a read is Corruption that names the family and the key.
namespace perennial::store {

// Every change that an older program would misread raises this number. migrations/ holds the steps.
inline constexpr uint32_t format_version = 5;
// The format of a new directory, and the oldest that is served. The formats from here to the newest
// differ only in what they add: a directory gets the newer one with the first batch that needs it.
// An older directory is migrated.
inline constexpr uint32_t format_base = 2;
// The first format that has notes.
inline constexpr uint32_t format_with_notes = 3;
// The first format that has jobs which have ended, and the settings and fields that belong to them.
inline constexpr uint32_t format_with_ended = 4;
// The first format that has schedules, and the field of the jobs that they have put.
inline constexpr uint32_t format_with_schedules = 5;
constexpr bool is_served(uint32_t format) {
  return format >= format_base && format <= format_version;
}
// The first byte of every value except bodies. The shape of a body belongs to the format version.
inline constexpr uint8_t row_format = 1;
// The first byte of a job's row that has fields behind its fixed part.
inline constexpr uint8_t row_format_with_fields = 2;

// A column family. These numbers are positions in arrays and never reach the disk, which holds the
// names in family_names.
enum class Family : uint8_t {
  Meta,
  Ready,
  Reserved,
  Delayed,
  Buried,
  Bodies,
  Keys,
  Notes,
  Ended,
  EndedOrder,
  Schedules
};
inline constexpr size_t family_count = 11;
inline constexpr std::array<std::string_view, family_count> family_names = {
    "default",  // meta: RocksDB's own first family, whose name is fixed.
    "ready",   "reserved", "delayed", "buried",      "bodies",
    "keys",    "notes",    "ended",   "ended_order", "schedules"};
// The families of a database by its format. The first entry belongs to format 1. The content of an
// entry never changes.
using FamilyNames = std::span<const std::string_view>;
inline constexpr std::array<FamilyNames, format_version> format_families = {
    FamilyNames(family_names).first(6), FamilyNames(family_names).first(7),
    FamilyNames(family_names).first(8), FamilyNames(family_names).first(10),
    FamilyNames(family_names)};
inline constexpr std::array<JobState, 4> job_states = {JobState::Ready, JobState::Reserved,
                                                       JobState::Delayed, JobState::Buried};
// The families that hold a row or a body for each job. Those of ended jobs hold their bodies, too.
inline constexpr std::array<Family, 5> job_families = {
    Family::Ready, Family::Reserved, Family::Delayed, Family::Buried, Family::Bodies};
// The families whose rows are put once and removed once with SingleDelete, so that the properties
// of their tables account for them.
inline constexpr std::array<Family, 7> counted_families = {
    Family::Ready,  Family::Reserved, Family::Delayed,   Family::Buried,
    Family::Bodies, Family::Ended,    Family::EndedOrder};
// Returns the families of `format`. `families` begins with format 1; a format past its end has the
// families of the last entry.
constexpr FamilyNames families_of(uint32_t format, std::span<const FamilyNames> families) {
  const size_t place = format == 0 ? 0 : format - 1;
  return families[place < families.size() ? place : families.size() - 1];
}
Family family_of(JobState state);
constexpr size_t place_of(Family family) {
  return static_cast<size_t>(family);
}
// Returns the name for messages: "meta", "ready" and so on.
std::string_view name_of(Family family);
// Returns the family whose name in a database is this one. None: the program has no such family.
constexpr std::optional<Family> family_named(std::string_view name) {
  for (size_t place = 0; place < family_count; ++place) {
    if (family_names[place] == name) return static_cast<Family>(place);
  }
  return std::nullopt;
}

// Whether rows of the family are those of jobs that have ended.
constexpr bool is_of_ended_jobs(Family family) {
  return family == Family::Ended || family == Family::EndedOrder;
}
// Whether the rows of the family belong to jobs that others say are there. Where its tables have
// later rows than those of the others, such rows can be told: a body belongs to one job and never
// changes, and a note has its number.
constexpr bool is_part_of_jobs(Family family) {
  return family == Family::Bodies || family == Family::Notes;
}
// Whether a start loads the rows of the family, because they are the state of the queue. Rows of
// the other families are read when somebody asks for one. So a damaged block of such a family
// refuses no start and ends no server: it costs the rows in it. ../damage/README.md.
constexpr bool is_loaded(Family family) {
  return !is_part_of_jobs(family) && !is_of_ended_jobs(family);
}
// The same by the name in a database or in messages. Any other name is that of a state.
constexpr bool is_loaded(std::string_view name) {
  const std::optional<Family> family = family_named(name);
  return !family || is_loaded(*family);
}
// Whether rows of the family are overwritten in place, and so removed with Delete. Any other row is
// put once under its key and removed with SingleDelete. Only of those families the properties of
// tables say how many rows there are.
constexpr bool is_overwritten(Family family) {
  return family == Family::Meta || family == Family::Keys || family == Family::Notes ||
         family == Family::Schedules;
}
// Whether keys of the family begin with the id of a job.
constexpr bool has_ids(Family family) {
  return family != Family::Meta && family != Family::Keys && family != Family::EndedOrder &&
         family != Family::Schedules;
}
// How many bytes a key of the family has. Those of `ended_order` have different lengths: it is that
// of the keys which begin with the same byte as `key`. REQUIRES: the family is none of meta,
// keys and schedules.
constexpr size_t key_bytes_of(Family family, std::string_view key = {}) {
  if (family == Family::Notes) return sizeof(JobId) + 1;
  if (family != Family::EndedOrder) return sizeof(JobId);
  return 1 + (key.empty() ? 0 : static_cast<uint8_t>(key[0])) + sizeof(uint64_t);
}

// The first byte of a key in meta.
enum class MetaTag : char {
  Cluster = 'i',  // Only in a directory that belongs to a cluster.
  Commit = 'c',
  Ended = 'e',  // And the tube's name.
  FormatVersion = 'f',
  Migration = 'm',  // Only while a migration is under way.
  NextId = 'n',
  Pause = 'p',     // And the tube's number.
  Settings = 's',  // And the tube's name.
  Tube = 't',      // And the tube's number.
};

// Numbers in a batch as bytes, batch/batch_codec.h: its first byte, the state of a job's row, and
// the kinds of the effects on meta, on keys, on notes and on schedules. A batch has the lowest
// format that holds it. 3 is none of them: it begins an entry of a cluster's log, cluster/entry.h.
inline constexpr uint8_t batch_format = 1;
inline constexpr uint8_t batch_format_with_fields = 2;
inline constexpr uint8_t batch_format_with_notes = 4;
inline constexpr uint8_t batch_format_with_ended = 5;
inline constexpr uint8_t batch_format_with_schedules = 6;
inline constexpr uint8_t newest_batch_format = batch_format_with_schedules;
// Also in the row of an ended job. Ended is only the state after a batch.
enum class BatchState : uint8_t {
  None = 0,
  Ready = 1,
  Reserved = 2,
  Delayed = 3,
  Buried = 4,
  Ended = 5
};
enum class BatchMeta : uint8_t {
  TubeStored = 1,
  TubeEnded = 2,
  TubePaused = 3,
  PauseEnded = 4,
  NextIdRaised = 5,
  SettingsStored = 6,
  SettingsRemoved = 7,
};
enum class BatchKey : uint8_t { Stored = 1, Freed = 2 };
enum class BatchNote : uint8_t { Stored = 1, Removed = 2 };
enum class BatchSchedule : uint8_t { Stored = 1, Changed = 2, Deleted = 3 };
// How a job has ended, in its row.
enum class StoredJobEnd : uint8_t { Deleted = 1, Flushed = 2, Expired = 3 };

// The progress of a migration: the format that it leads to, and what its step keeps for itself.
struct MigrationRow {
  uint32_t to = 0;
  std::string progress;

  bool operator==(const MigrationRow&) const = default;
};

// Identifies the last batch, and says what was known of history when that batch was sealed.
struct CommitRow {
  uint64_t epoch = 0;  // The epoch of the batch. Each open raises it by one.
  BatchIndex index = 0;
  BatchIndex known_durable = 0;
  Nanos now = 0;

  bool operator==(const CommitRow&) const = default;
};

// How far the log was synced, as recorded in the file `durable`: durable_mark.h.
struct DurableMark {
  uint64_t epoch = 0;
  BatchIndex index = 0;
  // The number of the log file that was written last, and its synced bytes. Both are 0 where they
  // are not known.
  uint64_t log_number = 0;
  uint64_t log_bytes = 0;
  // No id below this one may be given out. The next id in the database may be too low where a
  // truncation removed history. 0: the database's own next id is right.
  JobId next_id_min = 0;

  bool operator==(const DurableMark&) const = default;
};

template <size_t bytes>
using Bytes = std::array<char, bytes>;

template <size_t bytes>
std::string_view view(const Bytes<bytes>& value) {
  return {value.data(), bytes};
}

// A job's row as bytes. Only a row with fields allocates memory.
struct JobRowBytes {
  Bytes<64> fixed = {};
  std::string with_fields = {};  // The whole row, if it has fields.
};
inline std::string_view view(const JobRowBytes& row) {
  return row.with_fields.empty() ? view(row.fixed) : row.with_fields;
}

// Functions that encode and decode keys.
Bytes<8> job_key(JobId id);
Result<JobId> decode_job_key(Family family, std::string_view key);
Bytes<1> meta_key(MetaTag tag);
Bytes<5> tube_key(MetaTag tag, TubeId tube);
Result<TubeId> decode_tube_key(std::string_view key);

// Values of the four state families. REQUIRES: the row is valid.
JobRowBytes encode(const JobRow& row);
Result<JobRow> decode_job(JobState state, std::string_view key, std::string_view value);
// The same for a row that is a part of another value. Returns what is wrong, or nothing.
std::string decode_row(JobId id, JobState state, std::string_view value, JobRow& row);

// Values of meta. REQUIRES: the record is valid.
Bytes<8> encode_format_version(uint32_t version);
Bytes<40> encode(const CommitRow& row);
Bytes<16> encode_next_id(JobId next_id);
std::string encode(const MigrationRow& row);
std::string encode(const TubeStored& tube);
Bytes<24> encode(const TubePaused& pause);
// The identity of a cluster: 1 to 64 characters of which none is a control character.
std::string encode_cluster_id(std::string_view id);
Result<std::string> decode_cluster_id(std::string_view value);
Result<uint32_t> decode_format_version(std::string_view value);
Result<CommitRow> decode_commit(std::string_view value);
Result<JobId> decode_next_id(std::string_view value);
Result<MigrationRow> decode_migration(std::string_view value);
Result<TubeStored> decode_tube(std::string_view key, std::string_view value);
Result<TubePaused> decode_pause(std::string_view key, std::string_view value);

// The settings of a tube, in meta. REQUIRES: at least one is set; without any there is no record.
std::string settings_key(std::string_view tube);
std::string encode(const SettingsStored& stored);
Result<SettingsStored> decode_settings(std::string_view key, std::string_view value);

// Keys and values of the family `keys`. REQUIRES: the names are not empty and not too long.
inline constexpr size_t key_row_bytes = 24;
std::string key_row_key(std::string_view tube, std::string_view key);
Bytes<key_row_bytes> encode(const KeyStored& key);
Result<KeyStored> decode_key(std::string_view key, std::string_view value);

// Keys and values of the family `notes`. A job has one key for each place of a note, in the order
// of places. REQUIRES: the place is below notes_max, and the note is valid.
inline constexpr size_t note_key_bytes = key_bytes_of(Family::Notes);
Bytes<note_key_bytes> note_key(JobId job, uint32_t place);
std::string encode(const Note& note);
Result<NoteStored> decode_note(std::string_view key, std::string_view value);
// Whether a job that has had `had` notes still has the one with this number.
constexpr bool is_kept(uint32_t number, uint32_t had) {
  return number <= had && had - number < notes_max;
}
// Returns the job of a row, also where its value is damaged.
Result<JobId> decode_note_key(std::string_view key);

// The state of a job as a number on disk. None: no such state is stored.
BatchState stored_state(JobState state);
std::optional<JobState> decode_state(uint8_t code);

// Jobs that have ended. An ended job has a row in `ended`, and one in `ended_order`, by which those
// of a tube are found in the order in which they ended; its body and its notes are where they were.
// REQUIRES: the job is valid.
std::string encode(const EndedJob& job);
Result<EndedJob> decode_ended(std::string_view key, std::string_view value);
// Where an ended job is among those of its tube, and what must be known of it so that it can go.
struct EndedOrder {
  std::string tube;
  uint64_t place = 0;
  JobId job = 0;
  Nanos at = 0;        // When it ended, since the epoch.
  uint32_t notes = 0;  // How many are kept of it: 0 to notes_max.

  bool operator==(const EndedOrder&) const = default;
};
inline constexpr size_t ended_order_row_bytes = 24;
EndedOrder order_of(const EndedJob& job);
// The keys of a tube are in the order of places.
std::string ended_order_key(std::string_view tube, uint64_t place);
// Returns the place in a key, also where its value is damaged. REQUIRES: the key has one.
uint64_t place_in_ended_order_key(std::string_view key);
Bytes<ended_order_row_bytes> encode(const EndedOrder& order);
Result<EndedOrder> decode_ended_order(std::string_view key, std::string_view value);
// Where the ended jobs of a tube are, in meta. REQUIRES: the span is not empty; without any ended
// job there is no record.
struct EndedTube {
  std::string tube;
  EndedSpan span;

  bool operator==(const EndedTube&) const = default;
};
inline constexpr size_t ended_span_bytes = 24;
std::string ended_span_key(std::string_view tube);
Bytes<ended_span_bytes> encode(const EndedSpan& span);
Result<EndedTube> decode_ended_span(std::string_view key, std::string_view value);

// Keys and values of the family `schedules`. A schedule has two rows: what a client has set, with
// the body of its jobs, and how far it is. So a firing writes only the small one.
enum class ScheduleTag : char {
  Definition = 'd',  // And the schedule's name.
  Progress = 'p',    // And the schedule's name.
};
// The state in a progress.
enum class StoredScheduleState : uint8_t { Active = 1, Over = 2, NoZone = 3 };
// REQUIRES: the name is not empty and not too long.
std::string schedule_key(ScheduleTag tag, std::string_view name);
// Returns the name in a key that has this tag.
Result<std::string_view> decode_schedule_key(ScheduleTag tag, std::string_view key);
// REQUIRES: the schedule is valid, and the body has as many bytes as it says.
std::string encode(const Schedule& schedule, std::string_view body);
struct StoredSchedule {
  Schedule schedule;
  std::string_view body;  // A view of the value.
};
Result<StoredSchedule> decode_schedule(std::string_view key, std::string_view value);
inline constexpr size_t schedule_progress_bytes = 64;
Bytes<schedule_progress_bytes> encode(const ScheduleProgress& progress);
Result<ScheduleProgress> decode_schedule_progress(std::string_view key, std::string_view value);

// The validators return what is wrong with a record, or nothing. Programs that make rows from
// foreign data call them before they encode.
std::string_view tube_name_problem(std::string_view name);
std::string_view problem(const JobRow& row);
std::string_view problem(const CommitRow& row);
std::string_view problem(const TubeStored& tube);
std::string_view problem(const TubePaused& pause);
std::string_view problem(const KeyStored& key);
std::string_view problem(const KeyFreed& key);
std::string_view problem(const SettingsStored& stored);
std::string_view problem(const Note& note);
std::string_view problem(const NoteStored& stored);
std::string_view problem(const NotesRemoved& removed);
std::string_view problem(const EndedJob& job);
std::string_view problem(const EndedOrder& order);
std::string_view problem(const EndedSpan& span);
std::string_view problem(const EndedTube& tube);
std::string_view problem(const EndedGone& gone);
std::string_view schedule_name_problem(std::string_view name);
std::string_view problem(const Schedule& schedule);
std::string_view problem(const ScheduleProgress& progress);

// The hash that a body's value starts with. The bytes follow as the client sent them.
Bytes<8> body_hash(JobId id, std::string_view body);
// Returns the body in a stored value, as a view of `value`. Corruption: the hash does not fit.
Result<std::string_view> decode_body(JobId id, std::string_view value);

// A slot of the durable mark. `sequence` is one more than that of the slot written before.
inline constexpr size_t durable_mark_bytes = 64;
Bytes<durable_mark_bytes> encode(const DurableMark& mark, uint64_t sequence);
// Returns none if the slot is torn or damaged.
std::optional<DurableMark> decode_durable_mark(std::string_view slot, uint64_t& sequence);

// Corruption with the message "family, key 0011aabb: what is wrong".
Status damaged(Family family, std::string_view key, std::string_view what);

}  // namespace perennial::store
