// Decodes and encodes everything that the store keeps.

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/checkpoint/checkpoint_manifest.h"
#include "store/disk/hash.h"
#include "store/format/format.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

// A block of exactly this size, so that a read beyond its end is detected.
class Exact {
 public:
  explicit Exact(std::string_view bytes) : size_(bytes.size()), bytes_(new char[bytes.size()]) {
    std::copy(bytes.begin(), bytes.end(), bytes_.get());
  }
  std::string_view view() const { return {bytes_.get(), size_}; }

 private:
  size_t size_;
  std::unique_ptr<char[]> bytes_;
};

// The value decodes, or the message says why not.
template <typename Value>
bool decodes(const Result<Value>& value) {
  if (value.ok()) return true;
  CHECK(value.status().code() == StatusCode::Corruption);
  CHECK(!value.status().message().empty());
  return false;
}

void job(JobState state, std::string_view key, std::string_view value) {
  const Result<JobRow> row = store::decode_job(state, key, value);
  if (!decodes(row)) return;
  CHECK(row->state == state);
  CHECK(store::problem(*row).empty());
  CHECK(store::view(store::encode(*row)) == value);
  CHECK(store::view(store::job_key(row->id)) == key);
}

void body(std::string_view key, std::string_view value) {
  const Result<JobId> id = store::decode_job_key(store::Family::Bodies, key);
  if (!decodes(id)) return;
  CHECK(store::view(store::job_key(*id)) == key);
  const Result<std::string_view> found = store::decode_body(*id, value);
  if (decodes(found)) CHECK(*found == value.substr(8));
  // A stored body is returned under its own id and refused under another one.
  const Exact stored(std::string(store::view(store::body_hash(*id, value))) + std::string(value));
  const Result<std::string_view> again = store::decode_body(*id, stored.view());
  CHECK(again.ok());
  CHECK(*again == value);
  CHECK(!store::decode_body(*id + 1, stored.view()).ok());
}

void commit(std::string_view, std::string_view value) {
  const Result<store::CommitRow> row = store::decode_commit(value);
  if (decodes(row)) CHECK(store::view(store::encode(*row)) == value);
}

void next_id(std::string_view, std::string_view value) {
  const Result<JobId> id = store::decode_next_id(value);
  if (decodes(id)) CHECK(store::view(store::encode_next_id(*id)) == value);
}

void format(std::string_view, std::string_view value) {
  const Result<uint32_t> version = store::decode_format_version(value);
  if (decodes(version)) CHECK(store::view(store::encode_format_version(*version)) == value);
}

void migration(std::string_view, std::string_view value) {
  const Result<store::MigrationRow> row = store::decode_migration(value);
  if (decodes(row)) CHECK(store::encode(*row) == value);
}

void tube(std::string_view key, std::string_view value) {
  const Result<TubeStored> stored = store::decode_tube(key, value);
  if (!decodes(stored)) return;
  CHECK(store::encode(*stored) == value);
  CHECK(key.substr(1) ==
        store::view(store::tube_key(store::MetaTag::Tube, stored->tube)).substr(1));
}

void pause(std::string_view key, std::string_view value) {
  const Result<TubePaused> paused = store::decode_pause(key, value);
  if (!decodes(paused)) return;
  CHECK(store::view(store::encode(*paused)) == value);
  CHECK(key.substr(1) ==
        store::view(store::tube_key(store::MetaTag::Pause, paused->tube)).substr(1));
}

void settings(std::string_view key, std::string_view value) {
  // A caller has read the tag.
  if (key.empty()) return;
  const Result<SettingsStored> stored = store::decode_settings(key, value);
  if (!decodes(stored)) return;
  CHECK(store::problem(*stored).empty());
  CHECK(store::encode(*stored) == value);
  CHECK(store::settings_key(stored->tube).substr(1) == key.substr(1));
}

void key_row(std::string_view key, std::string_view value) {
  const Result<KeyStored> stored = store::decode_key(key, value);
  if (!decodes(stored)) return;
  CHECK(store::problem(*stored).empty());
  CHECK(store::view(store::encode(*stored)) == value);
  CHECK(store::key_row_key(stored->tube, stored->key) == key);
}

void note(std::string_view key, std::string_view value) {
  const Result<NoteStored> stored = store::decode_note(key, value);
  if (!decodes(stored)) return;
  CHECK(store::problem(*stored).empty());
  CHECK(store::encode(stored->note) == value);
  CHECK(store::view(store::note_key(stored->job, place_of_note(stored->note.number))) == key);
}

void schedule(std::string_view key, std::string_view value) {
  const Result<store::StoredSchedule> stored = store::decode_schedule(key, value);
  if (!decodes(stored)) return;
  CHECK(store::problem(stored->schedule).empty());
  CHECK(store::encode(stored->schedule, stored->body) == value);
}

void schedule_progress(std::string_view key, std::string_view value) {
  const Result<ScheduleProgress> progress = store::decode_schedule_progress(key, value);
  if (!decodes(progress)) return;
  CHECK(store::problem(*progress).empty());
  CHECK(store::view(store::encode(*progress)) == value);
}

void ended(std::string_view key, std::string_view value) {
  const Result<EndedJob> job = store::decode_ended(key, value);
  if (!decodes(job)) return;
  CHECK(store::problem(*job).empty());
  CHECK(store::encode(*job) == value);
  CHECK(store::view(store::job_key(job->row.id)) == key);
}

void ended_order(std::string_view key, std::string_view value) {
  const Result<store::EndedOrder> order = store::decode_ended_order(key, value);
  if (!decodes(order)) return;
  CHECK(store::view(store::encode(*order)) == value);
  CHECK(store::ended_order_key(order->tube, order->place) == key);
}

void ended_span(std::string_view key, std::string_view value) {
  // A caller has read the tag.
  if (key.empty()) return;
  const Result<store::EndedTube> tube = store::decode_ended_span(key, value);
  if (!decodes(tube)) return;
  CHECK(store::view(store::encode(tube->span)) == value);
  CHECK(store::ended_span_key(tube->tube).substr(1) == key.substr(1));
}

// No fuzzer guesses the hash at its end, so the target appends it.
void checkpoint_manifest(std::string_view, std::string_view value) {
  store::Hasher hasher;
  hasher.add(value);
  const Exact text(std::string(value) + fmt::format("  \"hash\": \"{}\"\n}}\n", hasher.hex()));
  const Result<store::CheckpointManifest> read = store::parse_manifest(text.view());
  if (!read.ok()) {
    CHECK(!read.status().message().empty());
    return;
  }
  const std::string rendered = store::render(*read);
  const Result<store::CheckpointManifest> again = store::parse_manifest(rendered);
  CHECK(again.ok());
  CHECK(store::render(*again) == rendered);
  CHECK(again->files == read->files);
}

using Row = void (*)(std::string_view key, std::string_view value);
constexpr std::array<Row, 20> kinds = {
    [](std::string_view k, std::string_view v) { job(JobState::Ready, k, v); },
    [](std::string_view k, std::string_view v) { job(JobState::Reserved, k, v); },
    [](std::string_view k, std::string_view v) { job(JobState::Delayed, k, v); },
    [](std::string_view k, std::string_view v) { job(JobState::Buried, k, v); },
    body,
    commit,
    next_id,
    format,
    migration,
    tube,
    pause,
    checkpoint_manifest,
    settings,
    key_row,
    note,
    ended,
    ended_order,
    ended_span,
    schedule,
    schedule_progress};

}  // namespace

// The kind of row, the length of the key, the key, the value.
void rows(std::string_view input) {
  Choices choices(input);
  const Row kind = kinds[choices.below(kinds.size())];
  const Exact key(choices.short_piece());
  const Exact value(choices.rest());
  kind(key.view(), value.view());
}

}  // namespace perennial::fuzz
