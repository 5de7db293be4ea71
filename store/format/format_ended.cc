#include <optional>
#include <string>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"

// The rows of the families `ended` and `ended_order`, and the spans of tubes in meta.
namespace perennial::store {
namespace {

// The offset of each part of an ended job's row. README.md draws the row.
namespace ended_at {
constexpr size_t how = 1, state = 2, user_bytes = 3, tube_bytes = 4, unused = 5, time = 8,
                 place = 16, names = 24;
}  // namespace ended_at

// And of its row in the order of its tube.
namespace order_at {
constexpr size_t notes = 1, unused = 2, job = 8, time = 16;
}  // namespace order_at

StoredJobEnd stored_end(JobEnd how) {
  switch (how) {
    case JobEnd::Deleted:
      return StoredJobEnd::Deleted;
    case JobEnd::Flushed:
      return StoredJobEnd::Flushed;
    case JobEnd::Expired:
      return StoredJobEnd::Expired;
  }
  CHECK(!"an end outside the enumeration");
}

std::optional<JobEnd> decode_end(uint8_t code) {
  switch (static_cast<StoredJobEnd>(code)) {
    case StoredJobEnd::Deleted:
      return JobEnd::Deleted;
    case StoredJobEnd::Flushed:
      return JobEnd::Flushed;
    case StoredJobEnd::Expired:
      return JobEnd::Expired;
  }
  return std::nullopt;
}

}  // namespace

BatchState stored_state(JobState state) {
  switch (state) {
    case JobState::Ready:
      return BatchState::Ready;
    case JobState::Reserved:
      return BatchState::Reserved;
    case JobState::Delayed:
      return BatchState::Delayed;
    case JobState::Buried:
      return BatchState::Buried;
  }
  CHECK(!"a state outside the enumeration");
}

std::optional<JobState> decode_state(uint8_t code) {
  switch (static_cast<BatchState>(code)) {
    case BatchState::Ready:
      return JobState::Ready;
    case BatchState::Reserved:
      return JobState::Reserved;
    case BatchState::Delayed:
      return JobState::Delayed;
    case BatchState::Buried:
      return JobState::Buried;
    case BatchState::None:
    case BatchState::Ended:
      break;
  }
  return std::nullopt;
}

std::string_view problem(const EndedJob& job) {
  if (const std::string_view wrong = problem(job.row); !wrong.empty()) return wrong;
  if (job.row.tube != 0) return "a tube's number in the row of an ended job";
  if (const std::string_view wrong = tube_name_problem(job.tube); !wrong.empty()) return wrong;
  if (job.place == 0) return "the place of an ended job is 0";
  if (job.at < 0) return "a job that ended before the epoch";
  return job.user.size() > note_user_bytes_max ? "the name of the user is too long" : "";
}

std::string_view problem(const EndedOrder& order) {
  if (const std::string_view wrong = tube_name_problem(order.tube); !wrong.empty()) return wrong;
  if (order.place == 0) return "the place of an ended job is 0";
  if (order.job == 0) return "job id is 0";
  if (order.at < 0) return "a job that ended before the epoch";
  return order.notes > notes_max ? "a number of notes that no job has" : "";
}

std::string_view problem(const EndedSpan& span) {
  if (span.first == 0) return "the first place of ended jobs is 0";
  return span.first < span.next ? "" : "a span of ended jobs without a place";
}

std::string_view problem(const EndedTube& tube) {
  const std::string_view wrong = tube_name_problem(tube.tube);
  return wrong.empty() ? problem(tube.span) : wrong;
}

std::string_view problem(const EndedGone& gone) {
  if (const std::string_view wrong = tube_name_problem(gone.tube); !wrong.empty()) return wrong;
  if (gone.place == 0) return "the place of an ended job is 0";
  if (gone.job == 0) return "job id is 0";
  return gone.notes > notes_max ? "a number of notes that no job has" : "";
}

std::string encode(const EndedJob& job) {
  CHECK(problem(job).empty());
  static_assert(note_user_bytes_max <= UINT8_MAX);
  static_assert(tube_name_bytes_max <= UINT8_MAX);
  Bytes<ended_at::names> head = {};
  put(head.data(), row_format);
  put(head.data() + ended_at::how, static_cast<uint8_t>(stored_end(job.how)));
  put(head.data() + ended_at::state, static_cast<uint8_t>(stored_state(job.row.state)));
  put(head.data() + ended_at::user_bytes, static_cast<uint8_t>(job.user.size()));
  put(head.data() + ended_at::tube_bytes, static_cast<uint8_t>(job.tube.size()));
  put(head.data() + ended_at::time, job.at);
  put(head.data() + ended_at::place, job.place);
  const JobRowBytes row = encode(job.row);
  std::string value;
  value.reserve(head.size() + job.tube.size() + job.user.size() + view(row).size());
  value += view(head);
  value += job.tube;
  value += job.user;
  value += view(row);
  return value;
}

Result<EndedJob> decode_ended(std::string_view key, std::string_view value) {
  const auto refuse = [key](std::string_view what) { return damaged(Family::Ended, key, what); };
  const Result<JobId> id = decode_job_key(Family::Ended, key);
  if (!id.ok()) return id.status();
  if (value.size() < ended_at::names) return refuse("wrong length");
  std::string_view wrong = shape_problem(value, value.size(), 1);
  if (!wrong.empty()) return refuse(wrong);
  if (!all_zero(value.substr(ended_at::unused, ended_at::time - ended_at::unused))) {
    return refuse("unused bytes are not zero");
  }
  const auto how = decode_end(get<uint8_t>(value, ended_at::how));
  if (!how) return refuse("it ended in an unknown way");
  const auto state = decode_state(get<uint8_t>(value, ended_at::state));
  if (!state) return refuse("it was in an unknown state");
  const size_t user_bytes = get<uint8_t>(value, ended_at::user_bytes);
  const size_t tube_bytes = get<uint8_t>(value, ended_at::tube_bytes);
  const std::string_view rest = value.substr(ended_at::names);
  if (tube_bytes + user_bytes > rest.size()) return refuse("a name is cut off");
  EndedJob job;
  job.tube = rest.substr(0, tube_bytes);
  job.user = rest.substr(tube_bytes, user_bytes);
  job.place = get<uint64_t>(value, ended_at::place);
  job.how = *how;
  job.at = get<Nanos>(value, ended_at::time);
  const std::string wrong_row =
      decode_row(*id, *state, rest.substr(tube_bytes + user_bytes), job.row);
  if (!wrong_row.empty()) return refuse(wrong_row);
  wrong = problem(job);
  if (!wrong.empty()) return refuse(wrong);
  return job;
}

std::string ended_order_key(std::string_view tube, uint64_t place) {
  std::string key = key_row_key(tube, {});
  Bytes<sizeof place> last;
  put_big_endian(last.data(), place);
  key += view(last);
  return key;
}

uint64_t place_in_ended_order_key(std::string_view key) {
  CHECK(key.size() > sizeof(uint64_t));
  return get_big_endian<uint64_t>(key.substr(key.size() - sizeof(uint64_t)));
}

EndedOrder order_of(const EndedJob& job) {
  return {.tube = job.tube,
          .place = job.place,
          .job = job.row.id,
          .at = job.at,
          .notes = notes_kept(job.row.fields ? job.row.fields->notes : 0)};
}

Bytes<ended_order_row_bytes> encode(const EndedOrder& order) {
  CHECK(problem(order).empty());
  Bytes<ended_order_row_bytes> value = {};
  put(value.data(), row_format);
  put(value.data() + order_at::notes, static_cast<uint8_t>(order.notes));
  put(value.data() + order_at::job, order.job);
  put(value.data() + order_at::time, order.at);
  return value;
}

Result<EndedOrder> decode_ended_order(std::string_view key, std::string_view value) {
  const auto refuse = [key](std::string_view what) {
    return damaged(Family::EndedOrder, key, what);
  };
  const size_t name_bytes = key.empty() ? 0 : static_cast<uint8_t>(key[0]);
  if (key.size() != 1 + name_bytes + sizeof(uint64_t)) return refuse("key of the wrong length");
  std::string_view wrong = shape_problem(value, ended_order_row_bytes, 1);
  if (!wrong.empty()) return refuse(wrong);
  if (!all_zero(value.substr(order_at::unused, order_at::job - order_at::unused))) {
    return refuse("unused bytes are not zero");
  }
  EndedOrder out = {.tube = std::string(key.substr(1, name_bytes)),
                    .place = get_big_endian<uint64_t>(key.substr(1 + name_bytes)),
                    .job = get<JobId>(value, order_at::job),
                    .at = get<Nanos>(value, order_at::time),
                    .notes = get<uint8_t>(value, order_at::notes)};
  wrong = problem(out);
  if (!wrong.empty()) return refuse(wrong);
  return out;
}

std::string ended_span_key(std::string_view tube) {
  return static_cast<char>(MetaTag::Ended) + std::string(tube);
}

Bytes<ended_span_bytes> encode(const EndedSpan& span) {
  CHECK(problem(span).empty());
  Bytes<ended_span_bytes> value = {};
  put(value.data(), row_format);
  put(value.data() + 8, span.first);
  put(value.data() + 16, span.next);
  return value;
}

Result<EndedTube> decode_ended_span(std::string_view key, std::string_view value) {
  const std::string_view wrong = shape_problem(value, ended_span_bytes, 8);
  if (!wrong.empty()) return damaged(Family::Meta, key, wrong);
  EndedTube out = {.tube = std::string(key.substr(1)),
                   .span = {.first = get<uint64_t>(value, 8), .next = get<uint64_t>(value, 16)}};
  const std::string_view wrong_span = problem(out);
  if (!wrong_span.empty()) return damaged(Family::Meta, key, wrong_span);
  return out;
}

}  // namespace perennial::store
