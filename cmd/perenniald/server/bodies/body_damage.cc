#include "cmd/perenniald/server/bodies/body_damage.h"

#include <algorithm>
#include <utility>

namespace perennial::perenniald {
namespace {

// Most blocks have a hundred ids. One of level 0 may have as many as the queue.
constexpr size_t ids_at_once = 100'000;

}  // namespace

void BodyDamage::poll(const store::Store& store) {
  if (store.damage_version() != version_ && !next_) begin(store);
  if (next_) go_on(store);
  forget_gone();
}

void BodyDamage::begin(const store::Store& store) {
  version_ = store.damage_version();
  blocks_ = store.damaged_blocks();
  block_count_ = blocks_.size();
  std::erase_if(blocks_, [](const auto& block) { return block.family != store::Family::Bodies; });
  if (!blocks_.empty()) next_ = Place{.block = 0, .id = blocks_.front().first};
}

void BodyDamage::go_on(const store::Store& store) {
  std::vector<JobId> jobs;
  for (size_t looked = 0; next_ && looked < ids_at_once; ++looked) {
    if (!lost_.contains(next_->id) && jobs_.exists(next_->id)) jobs.push_back(next_->id);
    if (next_->id < blocks_[next_->block].last) {
      ++next_->id;
    } else if (next_->block + 1 < blocks_.size()) {
      next_ = Place{.block = next_->block + 1, .id = blocks_[next_->block + 1].first};
    } else {
      next_.reset();
    }
  }
  if (!jobs.empty()) search(store, std::move(jobs));
}

// Those whose bodies the search finds have one.
void BodyDamage::search(const store::Store& store, std::vector<JobId> jobs) {
  ++searches_;
  std::vector<JobId> asked = jobs;
  search_.start(
      store, std::move(jobs), [](std::string_view /*body*/) { return true; },
      [this, asked = std::move(asked)](std::vector<JobId> found) {
        --searches_;
        std::ranges::sort(found);
        for (const JobId job : asked) {
          if (std::ranges::binary_search(found, job) || !jobs_.exists(job)) continue;
          if (lost_.insert(job).second) jobs_.on_lost(job);
        }
      });
}

void BodyDamage::forget_gone() {
  if (lost_.empty()) return;
  std::erase_if(lost_, [this](JobId job) { return !jobs_.exists(job); });
  if (lost_.empty()) jobs_.on_over();
}

}  // namespace perennial::perenniald
