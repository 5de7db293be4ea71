#include "store/batch/batch_codec.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <variant>

#include <xxhash.h>

#include "engine/types/check.h"
#include "store/batch/batch_layout.h"
#include "store/format/bytes.h"
#include "store/format/format.h"

namespace perennial::store {
namespace {

bool writes_nothing(const JobEffect& job) {
  return !job.before && !job.after;
}

uint8_t code_of(std::optional<JobState> state) {
  if (!state) return static_cast<uint8_t>(BatchState::None);
  switch (*state) {
    case JobState::Ready:
      return static_cast<uint8_t>(BatchState::Ready);
    case JobState::Reserved:
      return static_cast<uint8_t>(BatchState::Reserved);
    case JobState::Delayed:
      return static_cast<uint8_t>(BatchState::Delayed);
    case JobState::Buried:
      return static_cast<uint8_t>(BatchState::Buried);
  }
  CHECK(!"a state outside the enumeration");
}

// Appends the meta effects, each by its kind.
struct MetaEncoder {
  std::string& out;

  void head(BatchMeta kind, TubeId tube, size_t name_bytes = 0) const {
    Bytes<meta_at::end> head = {};
    put(head.data(), static_cast<uint8_t>(kind));
    put(head.data() + meta_at::name_bytes, static_cast<uint8_t>(name_bytes));
    put(head.data() + meta_at::tube, tube);
    out += view(head);
  }
  template <typename Number>
  void number(Number number) const {
    Bytes<sizeof number> bytes;
    put(bytes.data(), number);
    out += view(bytes);
  }

  void operator()(const TubeStored& stored) const {
    CHECK(problem(stored).empty());
    head(BatchMeta::TubeStored, stored.tube, stored.name.size());
    out += stored.name;
  }
  void operator()(const TubeEnded& ended) const { head(BatchMeta::TubeEnded, ended.tube); }
  void operator()(const TubePaused& paused) const {
    CHECK(problem(paused).empty());
    head(BatchMeta::TubePaused, paused.tube);
    number(paused.pause);
    number(paused.until);
  }
  void operator()(const PauseEnded& ended) const { head(BatchMeta::PauseEnded, ended.tube); }
  void operator()(const NextIdRaised& raised) const {
    CHECK(raised.next_id != 0);
    head(BatchMeta::NextIdRaised, 0);
    number(raised.next_id);
  }
};

void add_head(const Batch& batch, std::string& out) {
  const auto idle = static_cast<size_t>(std::ranges::count_if(batch.jobs(), writes_nothing));
  Bytes<batch_at::end> head = {};
  put(head.data(), batch_format);
  put(head.data() + batch_at::epoch, batch.epoch());
  put(head.data() + batch_at::index, batch.index());
  put(head.data() + batch_at::known_durable, batch.known_durable());
  put(head.data() + batch_at::now, batch.now());
  put(head.data() + batch_at::metas, static_cast<uint32_t>(batch.metas().size()));
  put(head.data() + batch_at::jobs, static_cast<uint32_t>(batch.jobs().size() - idle));
  out += view(head);
}

void add_job(const JobEffect& job, std::string& out) {
  Bytes<job_effect_at::end> head = {};
  put(head.data() + job_effect_at::before, code_of(job.before));
  put(head.data() + job_effect_at::after,
      code_of(job.after ? std::optional(job.after->state) : std::nullopt));
  put(head.data() + job_effect_at::id, job.id);
  out += view(head);
  if (!job.after) return;
  CHECK(job.after->id == job.id);
  const Bytes<batch_row_bytes> row = encode(*job.after);
  out += view(row);
  if (job.before) return;
  CHECK(job.body.size() == job.after->body_bytes);
  out += job.body;
}

}  // namespace

void encode_batch(const Batch& batch, std::string& out) {
  CHECK(batch.index() != 0);
  CHECK(batch.now() >= 0);
  const size_t begin = out.size();
  add_head(batch, out);
  for (const MetaEffect& effect : batch.metas()) std::visit(MetaEncoder{out}, effect);
  for (const JobEffect& job : batch.jobs()) {
    if (!writes_nothing(job)) add_job(job, out);
  }
  Bytes<batch_hash_bytes> hash;
  put(hash.data(), XXH3_64bits(out.data() + begin, out.size() - begin));
  out += view(hash);
}

}  // namespace perennial::store
