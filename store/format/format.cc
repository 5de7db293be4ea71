#include "store/format/format.h"

#include <fmt/format.h>
#include <xxhash.h>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"

namespace perennial::store {
namespace {

// The offset of each field in a job's row. README.md draws the row.
namespace job_at {
constexpr size_t tube = 4, priority = 8, delay = 12, ttr = 16, body_bytes = 20, created = 24,
                 order = 32, reserves = 40, timeouts = 44, releases = 48, buries = 52, kicks = 56,
                 unused = 60, end = 64;
}  // namespace job_at

// A row without fields is valid only with the one format byte, and a row with fields only with the
// other.
std::string_view row_shape_problem(std::string_view value) {
  const bool has_fields =
      !value.empty() && static_cast<uint8_t>(value[0]) == row_format_with_fields;
  if (has_fields ? value.size() <= job_at::end : value.size() != job_at::end) return "wrong length";
  if (!has_fields && static_cast<uint8_t>(value[0]) != row_format) return "unknown row format";
  const bool is_zero = all_zero(value.substr(1, job_at::tube - 1)) &&
                       all_zero(value.substr(job_at::unused, job_at::end - job_at::unused));
  return is_zero ? "" : "unused bytes are not zero";
}

bool has_ttr(const JobRow& row) {
  return row.ttr_s != 0 || (row.fields && row.fields->ttr_rest_ns != 0);
}

}  // namespace

std::string_view problem(const JobRow& row) {
  if (row.id == 0) return "job id is 0";
  if (!has_ttr(row)) return "ttr is 0";
  if (row.created < 0) return "created before the epoch";
  if (row.state == JobState::Reserved && row.order != 0) return "order of a reserved job";
  if (row.state == JobState::Delayed && row.order > INT64_MAX) return "deadline out of range";
  if (row.state == JobState::Ready && row.order > INT64_MAX) return "ready since out of range";
  return row.fields ? problem(*row.fields) : "";
}

Family family_of(JobState state) {
  switch (state) {
    case JobState::Ready:
      return Family::Ready;
    case JobState::Reserved:
      return Family::Reserved;
    case JobState::Delayed:
      return Family::Delayed;
    case JobState::Buried:
      return Family::Buried;
  }
  CHECK(!"a state outside the enumeration");
}

std::string_view name_of(Family family) {
  return family == Family::Meta ? "meta" : family_names[place_of(family)];
}

Status damaged(Family family, std::string_view key, std::string_view what) {
  std::string hex;
  for (const char byte : key) hex += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return {StatusCode::Corruption, fmt::format("{}, key {}: {}", name_of(family), hex, what)};
}

Bytes<8> job_key(JobId id) {
  Bytes<8> key;
  put_big_endian(key.data(), id);
  return key;
}

Result<JobId> decode_job_key(Family family, std::string_view key) {
  if (key.size() != sizeof(JobId)) return damaged(family, key, "key of the wrong length");
  return get_big_endian<JobId>(key);
}

JobRowBytes encode(const JobRow& row) {
  static_assert(job_at::end == sizeof(JobRowBytes::fixed));
  CHECK(problem(row).empty());
  JobRowBytes value;
  char* const at = value.fixed.data();
  put(at, row.fields ? row_format_with_fields : row_format);
  put(at + job_at::tube, row.tube);
  put(at + job_at::priority, row.priority);
  put(at + job_at::delay, row.delay_s);
  put(at + job_at::ttr, row.ttr_s);
  put(at + job_at::body_bytes, row.body_bytes);
  put(at + job_at::created, row.created);
  put(at + job_at::order, row.order);
  put(at + job_at::reserves, row.reserves);
  put(at + job_at::timeouts, row.timeouts);
  put(at + job_at::releases, row.releases);
  put(at + job_at::buries, row.buries);
  put(at + job_at::kicks, row.kicks);
  if (!row.fields) return value;
  value.with_fields.reserve(job_at::end + fields_bytes(*row.fields));
  value.with_fields = view(value.fixed);
  add_fields(*row.fields, value.with_fields);
  return value;
}

std::string decode_row(JobId id, JobState state, std::string_view value, JobRow& row) {
  const std::string_view wrong = row_shape_problem(value);
  if (!wrong.empty()) return std::string(wrong);
  row = {.id = id,
         .state = state,
         .tube = get<TubeId>(value, job_at::tube),
         .priority = get<uint32_t>(value, job_at::priority),
         .delay_s = get<uint32_t>(value, job_at::delay),
         .ttr_s = get<uint32_t>(value, job_at::ttr),
         .created = get<Nanos>(value, job_at::created),
         .order = get<uint64_t>(value, job_at::order),
         .reserves = get<uint32_t>(value, job_at::reserves),
         .timeouts = get<uint32_t>(value, job_at::timeouts),
         .releases = get<uint32_t>(value, job_at::releases),
         .buries = get<uint32_t>(value, job_at::buries),
         .kicks = get<uint32_t>(value, job_at::kicks),
         .body_bytes = get<uint32_t>(value, job_at::body_bytes)};
  const std::string_view fields = value.substr(job_at::end);
  if (!fields.empty()) {
    std::string wrong_fields = decode_fields(fields, row.fields.make());
    if (!wrong_fields.empty()) return wrong_fields;
  }
  return std::string(problem(row));
}

Result<JobRow> decode_job(JobState state, std::string_view key, std::string_view value) {
  const Family family = family_of(state);
  Result<JobId> id = decode_job_key(family, key);
  if (!id.ok()) return id.take_status();
  JobRow row;
  const std::string wrong = decode_row(*id, state, value, row);
  if (!wrong.empty()) return damaged(family, key, wrong);
  return row;
}

Bytes<durable_mark_bytes> encode(const DurableMark& mark, uint64_t sequence) {
  Bytes<durable_mark_bytes> slot = {};
  put(slot.data(), row_format);
  put(slot.data() + 8, sequence);
  put(slot.data() + 16, mark.epoch);
  put(slot.data() + 24, mark.index);
  put(slot.data() + 32, mark.log_number);
  put(slot.data() + 40, mark.log_bytes);
  put(slot.data() + 48, mark.next_id_min);
  put(slot.data() + 56, XXH3_64bits(slot.data(), 56));
  return slot;
}

std::optional<DurableMark> decode_durable_mark(std::string_view slot, uint64_t& sequence) {
  if (!shape_problem(slot, durable_mark_bytes, 8).empty()) return std::nullopt;
  if (get<uint64_t>(slot, 56) != XXH3_64bits(slot.data(), 56)) return std::nullopt;
  sequence = get<uint64_t>(slot, 8);
  return DurableMark{.epoch = get<uint64_t>(slot, 16),
                     .index = get<BatchIndex>(slot, 24),
                     .log_number = get<uint64_t>(slot, 32),
                     .log_bytes = get<uint64_t>(slot, 40),
                     .next_id_min = get<JobId>(slot, 48)};
}

Bytes<8> body_hash(JobId id, std::string_view body) {
  Bytes<8> hash;
  put(hash.data(), XXH3_64bits_withSeed(body.data(), body.size(), id));
  return hash;
}

Result<std::string_view> decode_body(JobId id, std::string_view value) {
  const Bytes<8> key = job_key(id);
  if (value.size() < 8) return damaged(Family::Bodies, view(key), "wrong length");
  const std::string_view body = value.substr(8);
  if (value.substr(0, 8) != view(body_hash(id, body))) {
    return damaged(Family::Bodies, view(key), "the hash does not fit the body");
  }
  return body;
}

}  // namespace perennial::store
