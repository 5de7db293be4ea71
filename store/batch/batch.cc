#include "store/batch/batch.h"

#include <type_traits>
#include <utility>

#include "engine/types/check.h"
#include "store/format/fields.h"

namespace perennial::store {
namespace {

// Estimates of the bytes of a row, a key and RocksDB's framing together.
constexpr size_t job_effect_bytes = 128;
constexpr size_t meta_effect_bytes = 64;
constexpr size_t key_effect_bytes = 64;

size_t bytes_of_fields(const std::optional<JobRow>& row) {
  return row && row->fields ? fields_bytes(*row->fields) : 0;
}

}  // namespace

void Batch::add(const Transition& transition, std::string_view body) {
  ++transitions_;
  promised_ = promised_ || is_promised(transition);
  if (const auto* moved = std::get_if<JobMoved>(&transition)) return add_job(*moved, body);
  CHECK(body.empty());
  std::visit(
      [this](const auto& effect) {
        using Effect = std::decay_t<decltype(effect)>;
        if constexpr (requires { effect.key; }) {
          add_key(effect.tube, effect.key, effect);
        } else if constexpr (!std::is_same_v<Effect, JobMoved>) {
          add_meta(effect);
        }
      },
      transition);
}

void Batch::add_meta(MetaEffect effect) {
  bytes_ += meta_effect_bytes;
  if (const auto* stored = std::get_if<SettingsStored>(&effect)) {
    bytes_ += stored->tube.size() + fields_bytes(stored->settings);
  }
  must_sync_ = must_sync_ || std::holds_alternative<NextIdRaised>(effect);
  metas_.push_back(std::move(effect));
}

void Batch::add_key(const std::string& tube, const std::string& key, KeyEffect effect) {
  const auto [position, is_first] =
      key_position_.try_emplace({tube, key}, static_cast<uint32_t>(keys_.size()));
  if (!is_first) {
    keys_[position->second] = std::move(effect);
    return;
  }
  bytes_ += key_effect_bytes + tube.size() + key.size();
  keys_.push_back(std::move(effect));
}

// Keeps only the first `before` and the last `after` of each job. Writing each transition instead
// would cost a delete and a put for every step of a job.
void Batch::add_job(const JobMoved& moved, std::string_view body) {
  CHECK(moved.before || moved.after);
  const auto [position, is_first] =
      position_.try_emplace(moved.id, static_cast<uint32_t>(jobs_.size()));
  if (is_first) {
    jobs_.push_back({.id = moved.id, .before = moved.before, .after = moved.after, .body = body});
    bytes_ += job_effect_bytes + bytes_of_fields(moved.after) + body.size();
    return;
  }
  JobEffect& effect = jobs_[position->second];
  // A transition starts in the state in which the one before ended, and an id is never used again.
  CHECK(effect.after.has_value());
  CHECK(moved.before == effect.after->state);
  bytes_ += bytes_of_fields(moved.after);
  bytes_ -= bytes_of_fields(effect.after);
  effect.after = moved.after;
}

void Batch::seal(const BatchPlace& place) {
  CHECK(place_.index == 0);
  CHECK(place.epoch > 0);
  CHECK(place.known_durable < place.index);
  place_ = place;
}

void Batch::reseal(const BatchPlace& place) {
  CHECK(place_.index != 0);
  CHECK(place.index == place_.index);
  CHECK(place.epoch > 0);
  CHECK(place.known_durable < place.index);
  place_ = place;
}

void Batch::clear() {
  position_.clear();
  jobs_.clear();
  metas_.clear();
  key_position_.clear();
  keys_.clear();
  transitions_ = 0;
  bytes_ = 0;
  promised_ = false;
  must_sync_ = false;
  place_ = {};
}

size_t Batch::operations() const {
  // Each job has at most three: one row deleted, one row put, and one body put or deleted.
  return 3 * jobs_.size() + metas_.size() + keys_.size();
}

}  // namespace perennial::store
