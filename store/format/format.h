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

// The only home of numbers that reach the disk. Never renumber, never reuse: a retired value stays
// as a comment. store/README.md draws every key and value; tests/store/format/format_test.cc pins
// the values.
//
// Keys are big-endian, so that they sort; numbers in values are little-endian. Values start with a
// format byte, save bodies, which start with their hash. Unused bytes are zero, and are checked.
// One validator per record serves twice: before writing a failure is a CHECK, after reading it is
// Corruption that names the family and the key.
namespace perennial::store {

// Raised by every change that an older program would misread. migrations/ holds the steps.
inline constexpr uint32_t format_version = 1;
// The first byte of every value but bodies, whose shape belongs to the format version.
inline constexpr uint8_t row_format = 1;

// A column family. These numbers are places in arrays, never on disk: there it is the name.
enum class Family : uint8_t { Meta, Ready, Reserved, Delayed, Buried, Bodies };
inline constexpr size_t family_count = 6;
inline constexpr std::array<std::string_view, family_count> family_names = {
    "default",  // meta: RocksDB's own first family, which cannot be named.
    "ready",   "reserved", "delayed", "buried", "bodies"};
// Which families a database consists of, by its format: the first entry is that of format 1. What
// is in an entry never changes.
using FamilyNames = std::span<const std::string_view>;
inline constexpr std::array<FamilyNames, format_version> format_families = {
    FamilyNames(family_names)};
inline constexpr std::array<JobState, 4> job_states = {JobState::Ready, JobState::Reserved,
                                                       JobState::Delayed, JobState::Buried};
// Those with a row for each job.
inline constexpr std::array<Family, 5> job_families = {
    Family::Ready, Family::Reserved, Family::Delayed, Family::Buried, Family::Bodies};
// `families` begins with those of format 1; a format behind its end has those of the last.
constexpr FamilyNames families_of(uint32_t format, std::span<const FamilyNames> families) {
  const size_t place = format == 0 ? 0 : format - 1;
  return families[place < families.size() ? place : families.size() - 1];
}
Family family_of(JobState state);
constexpr size_t place_of(Family family) {
  return static_cast<size_t>(family);
}
// The name as people know it: "meta", "ready" and so on.
std::string_view name_of(Family family);

// The first byte of a key in meta.
enum class MetaTag : char {
  Commit = 'c',
  FormatVersion = 'f',
  Migration = 'm',  // Only while the format is changed.
  NextId = 'n',
  Pause = 'p',  // And the tube's number.
  Tube = 't',   // And the tube's number.
};

// A batch as bytes: batch/batch_codec.h. Its first byte, what a job's row is in, and a meta effect.
inline constexpr uint8_t batch_format = 1;
enum class BatchState : uint8_t { None = 0, Ready = 1, Reserved = 2, Delayed = 3, Buried = 4 };
enum class BatchMeta : uint8_t {
  TubeStored = 1,
  TubeEnded = 2,
  TubePaused = 3,
  PauseEnded = 4,
  NextIdRaised = 5,
};

// How far a migration has come: to which format, and what its step keeps for itself.
struct MigrationRow {
  uint32_t to = 0;
  std::string progress;

  bool operator==(const MigrationRow&) const = default;
};

// Which batch was the last, and what was known of history when it was built.
struct CommitRow {
  uint64_t epoch = 0;  // One more at each open; otherwise the batch's.
  BatchIndex index = 0;
  BatchIndex known_durable = 0;
  Nanos now = 0;

  bool operator==(const CommitRow&) const = default;
};

// How far the log was synced, as the file beside the database says: durable_mark.h.
struct DurableMark {
  uint64_t epoch = 0;
  BatchIndex index = 0;
  // The log file that was written last, and its bytes up to here; 0 where that is not known.
  uint64_t log_number = 0;
  uint64_t log_bytes = 0;
  // No id below this one may be given out: what the database says itself may be too low, because
  // history was cut. 0: it is not.
  JobId next_id_min = 0;

  bool operator==(const DurableMark&) const = default;
};

template <size_t bytes>
using Bytes = std::array<char, bytes>;

template <size_t bytes>
std::string_view view(const Bytes<bytes>& value) {
  return {value.data(), bytes};
}

// Keys.
Bytes<8> job_key(JobId id);
Result<JobId> decode_job_key(Family family, std::string_view key);
Bytes<1> meta_key(MetaTag tag);
Bytes<5> tube_key(MetaTag tag, TubeId tube);
Result<TubeId> decode_tube_key(std::string_view key);

// Values of the four state families. REQUIRES: the row is valid.
Bytes<64> encode(const JobRow& row);
Result<JobRow> decode_job(JobState state, std::string_view key, std::string_view value);

// Values of meta. REQUIRES: likewise.
Bytes<8> encode_format_version(uint32_t version);
Bytes<40> encode(const CommitRow& row);
Bytes<16> encode_next_id(JobId next_id);
std::string encode(const MigrationRow& row);
std::string encode(const TubeStored& tube);
Bytes<24> encode(const TubePaused& pause);
Result<uint32_t> decode_format_version(std::string_view value);
Result<CommitRow> decode_commit(std::string_view value);
Result<JobId> decode_next_id(std::string_view value);
Result<MigrationRow> decode_migration(std::string_view value);
Result<TubeStored> decode_tube(std::string_view key, std::string_view value);
Result<TubePaused> decode_pause(std::string_view key, std::string_view value);

// The validators: what is wrong with a record, or nothing. For whoever makes rows of what others
// have written.
std::string_view problem(const JobRow& row);
std::string_view problem(const CommitRow& row);
std::string_view problem(const TubeStored& tube);
std::string_view problem(const TubePaused& pause);

// A body's value is this, and then the bytes as the client sent them.
Bytes<8> body_hash(JobId id, std::string_view body);
// The body in a stored value.
Result<std::string_view> decode_body(JobId id, std::string_view value);

// A slot of the durable mark. `sequence`: one more than that of the slot written before.
inline constexpr size_t durable_mark_bytes = 64;
Bytes<durable_mark_bytes> encode(const DurableMark& mark, uint64_t sequence);
// None: it is torn, or damaged.
std::optional<DurableMark> decode_durable_mark(std::string_view slot, uint64_t& sequence);

// "family, key 0011aabb: what is wrong".
Status damaged(Family family, std::string_view key, std::string_view what);

}  // namespace perennial::store
