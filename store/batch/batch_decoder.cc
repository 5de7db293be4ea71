#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "absl/container/flat_hash_set.h"
#include "store/batch/batch_codec.h"
#include "store/batch/batch_layout.h"
#include "store/format/bytes.h"
#include "store/format/format.h"

namespace perennial::store {
namespace {

// What holds of the bytes of every format: the first byte is the format, the last eight the hash of
// all before them.
Status check_whole(std::string_view bytes) {
  const auto damaged = [](std::string_view what) {
    return Status(StatusCode::Corruption, fmt::format("a batch as bytes: {}", what));
  };
  if (bytes.size() <= batch_hash_bytes) return damaged("it is too short");
  const size_t hashed = bytes.size() - batch_hash_bytes;
  if (get<uint64_t>(bytes, hashed) != XXH3_64bits(bytes.data(), hashed)) {
    return damaged("the hash does not fit");
  }
  const auto format = static_cast<uint8_t>(bytes[0]);
  if (format > batch_format) {
    return {StatusCode::Unsupported, fmt::format("a batch as bytes: its format is {}, which only a "
                                                 "newer program reads: this one knows {}",
                                                 format, batch_format)};
  }
  if (format != batch_format) return damaged("unknown format");
  if (hashed < batch_at::end) return damaged("it is too short");
  return {};
}

// Takes bytes that are whole apart, front to back. The first thing that is wrong ends it.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}

  Result<Batch> decode();

 private:
  bool take_head();
  void take_meta();
  void add_meta(uint8_t kind, TubeId tube, std::string name);
  void take_job();
  void add_job(std::optional<JobState> before, std::optional<JobState> after, std::string_view key);
  std::optional<JobState> state_of(char code);
  // The next so many bytes; none, and it has failed, if there are fewer.
  std::string_view take(size_t count);
  template <typename Number>
  Number take_number() {
    const std::string_view bytes = take(sizeof(Number));
    return bytes.empty() ? Number{} : get<Number>(bytes, 0);
  }
  void fail(std::string_view what);
  bool failed() const { return !problem_.empty(); }

  const std::string_view bytes_;  // Without the hash.
  size_t at_ = 0;
  size_t part_ = 0;  // Where that begins which is being taken.
  uint32_t metas_ = 0;
  uint32_t jobs_ = 0;
  BatchPlace place_;
  Batch batch_;
  absl::flat_hash_set<JobId> seen_;
  std::string problem_;
};

void Decoder::fail(std::string_view what) {
  if (failed()) return;
  problem_ = fmt::format("a batch as bytes, {} of epoch {}, byte {}: {}", place_.index,
                         place_.epoch, part_, what);
}

std::string_view Decoder::take(size_t count) {
  if (failed()) return {};
  if (count > bytes_.size() - at_) {
    fail("it goes beyond the end");
    return {};
  }
  const std::string_view out = bytes_.substr(at_, count);
  at_ += count;
  return out;
}

bool Decoder::take_head() {
  const std::string_view head = take(batch_at::end);
  place_ = {.epoch = get<uint64_t>(head, batch_at::epoch),
            .index = get<BatchIndex>(head, batch_at::index),
            .known_durable = get<BatchIndex>(head, batch_at::known_durable),
            .now = get<Nanos>(head, batch_at::now)};
  metas_ = get<uint32_t>(head, batch_at::metas);
  jobs_ = get<uint32_t>(head, batch_at::jobs);
  if (!all_zero(head.substr(1, batch_at::epoch - 1))) fail("unused bytes are not zero");
  if (place_.epoch == 0) fail("its epoch is 0");
  if (place_.index == 0) fail("its index is 0");
  if (place_.known_durable >= place_.index) fail("it was known to be durable before it was made");
  if (place_.now < 0) fail("time before the epoch");
  const uint64_t least = uint64_t{metas_} * meta_at::end + uint64_t{jobs_} * job_effect_at::end;
  if (least > bytes_.size() - at_) fail("it counts more effects than it has room for");
  return !failed();
}

void Decoder::take_meta() {
  part_ = at_;
  const std::string_view head = take(meta_at::end);
  if (failed()) return;
  if (!all_zero(head.substr(meta_at::unused, meta_at::tube - meta_at::unused))) {
    return fail("unused bytes are not zero");
  }
  const std::string_view name = take(static_cast<uint8_t>(head[meta_at::name_bytes]));
  if (failed()) return;
  const auto kind = static_cast<uint8_t>(head[0]);
  if (!name.empty() && kind != static_cast<uint8_t>(BatchMeta::TubeStored)) {
    return fail("a name where none belongs");
  }
  add_meta(kind, get<TubeId>(head, meta_at::tube), std::string(name));
}

void Decoder::add_meta(uint8_t kind, TubeId tube, std::string name) {
  const auto add = [this](const auto& effect, std::string_view wrong) {
    if (!wrong.empty()) fail(wrong);
    if (!failed()) batch_.add(effect);
  };
  switch (static_cast<BatchMeta>(kind)) {
    case BatchMeta::TubeStored: {
      const TubeStored stored = {.tube = tube, .name = std::move(name)};
      return add(stored, problem(stored));
    }
    case BatchMeta::TubeEnded:
      return add(TubeEnded{.tube = tube}, {});
    case BatchMeta::TubePaused: {
      TubePaused paused = {.tube = tube, .pause = take_number<Nanos>(), .until = 0};
      paused.until = take_number<Nanos>();
      return add(paused, problem(paused));
    }
    case BatchMeta::PauseEnded:
      return add(PauseEnded{.tube = tube}, {});
    case BatchMeta::NextIdRaised: {
      const NextIdRaised raised = {.next_id = take_number<JobId>()};
      if (tube != 0) return fail("a tube where none belongs");
      return add(raised, raised.next_id == 0 ? "next id is 0" : "");
    }
  }
  fail("an effect of an unknown kind");
}

std::optional<JobState> Decoder::state_of(char code) {
  switch (static_cast<BatchState>(code)) {
    case BatchState::None:
      return std::nullopt;
    case BatchState::Ready:
      return JobState::Ready;
    case BatchState::Reserved:
      return JobState::Reserved;
    case BatchState::Delayed:
      return JobState::Delayed;
    case BatchState::Buried:
      return JobState::Buried;
  }
  fail("a job in an unknown state");
  return std::nullopt;
}

void Decoder::take_job() {
  part_ = at_;
  const std::string_view head = take(job_effect_at::end);
  if (failed()) return;
  const std::optional<JobState> before = state_of(head[job_effect_at::before]);
  const std::optional<JobState> after = state_of(head[job_effect_at::after]);
  const auto id = get<JobId>(head, job_effect_at::id);
  if (!all_zero(head.substr(job_effect_at::unused, job_effect_at::id - job_effect_at::unused))) {
    return fail("unused bytes are not zero");
  }
  if (id == 0) return fail("job id is 0");
  if (!before && !after) return fail("a job that was not there and is not");
  if (!seen_.insert(id).second) return fail("a job twice");
  const Bytes<8> key = job_key(id);
  add_job(before, after, view(key));
}

void Decoder::add_job(std::optional<JobState> before, std::optional<JobState> after,
                      std::string_view key) {
  JobMoved moved = {
      .id = get_big_endian<JobId>(key), .before = before, .after = {}, .promised = true};
  std::string_view body;
  if (after) {
    const std::string_view bytes = take(batch_row_bytes);
    if (failed()) return;
    const Result<JobRow> row = decode_job(*after, key, bytes);
    if (!row.ok()) return fail(row.status().message());
    moved.after = *row;
    if (!before) body = take(row->body_bytes);
  }
  if (!failed()) batch_.add(moved, body);
}

Result<Batch> Decoder::decode() {
  if (take_head()) {
    for (uint32_t i = 0; i < metas_ && !failed(); ++i) take_meta();
    for (uint32_t i = 0; i < jobs_ && !failed(); ++i) take_job();
    part_ = at_;
    if (!failed() && at_ != bytes_.size()) fail("there is more than it counts");
  }
  if (failed()) return Status(StatusCode::Corruption, problem_);
  batch_.seal(place_);
  return std::move(batch_);
}

}  // namespace

Result<Batch> decode_batch(std::string_view bytes) {
  if (Status whole = check_whole(bytes); !whole.ok()) return whole;
  return Decoder(bytes.substr(0, bytes.size() - batch_hash_bytes)).decode();
}

}  // namespace perennial::store
