#include "store/batch/batch.h"

#include "engine/types/check.h"

namespace perennial::store {
namespace {

// What a row, a key and RocksDB's framing come to, about.
constexpr size_t job_effect_bytes = 128;
constexpr size_t meta_effect_bytes = 64;

}  // namespace

void Batch::add(const Transition& transition, std::string_view body) {
  ++transitions_;
  promised_ = promised_ || is_promised(transition);
  if (const auto* moved = std::get_if<JobMoved>(&transition)) return add_job(*moved, body);
  CHECK(body.empty());
  bytes_ += meta_effect_bytes;
  if (const auto* stored = std::get_if<TubeStored>(&transition)) metas_.emplace_back(*stored);
  if (const auto* ended = std::get_if<TubeEnded>(&transition)) metas_.emplace_back(*ended);
  if (const auto* paused = std::get_if<TubePaused>(&transition)) metas_.emplace_back(*paused);
  if (const auto* over = std::get_if<PauseEnded>(&transition)) metas_.emplace_back(*over);
  if (const auto* raised = std::get_if<NextIdRaised>(&transition)) {
    metas_.emplace_back(*raised);
    must_sync_ = true;
  }
}

void Batch::add_job(const JobMoved& moved, std::string_view body) {
  CHECK(moved.before || moved.after);
  const auto [position, is_first] =
      position_.try_emplace(moved.id, static_cast<uint32_t>(jobs_.size()));
  if (is_first) {
    jobs_.push_back({.id = moved.id, .before = moved.before, .after = moved.after, .body = body});
    bytes_ += job_effect_bytes + body.size();
    return;
  }
  JobEffect& effect = jobs_[position->second];
  // A transition starts where the one before ended, and an id never comes back.
  CHECK(effect.after.has_value());
  CHECK(moved.before == effect.after->state);
  effect.after = moved.after;
}

void Batch::seal(const BatchPlace& place) {
  CHECK(place_.index == 0);
  CHECK(place.epoch > 0);
  CHECK(place.known_durable < place.index);
  place_ = place;
}

void Batch::clear() {
  position_.clear();
  jobs_.clear();
  metas_.clear();
  transitions_ = 0;
  bytes_ = 0;
  promised_ = false;
  must_sync_ = false;
  place_ = {};
}

size_t Batch::operations() const {
  // At most three a job: a row out, a row in, a body.
  return 3 * jobs_.size() + metas_.size();
}

}  // namespace perennial::store
