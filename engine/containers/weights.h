#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"

namespace perennial::engine {

// How one connection divides its reservations among the tubes that it watches, with
// `reserve-mode weighted`: by stride scheduling, so that the same history gives the same order. A
// tube has a pass. The tube with the least pass is served, and then its pass grows by the inverse
// of its weight. A tube without jobs falls behind the others. When it has jobs again it starts at
// the least pass of the others, because time without jobs earns nothing.
class Weights {
 public:
  // What the pass of a tube of weight 1 grows by.
  static constexpr uint64_t stride_of_one = uint64_t{1} << 24;

  void set(TubeId tube, uint32_t weight) { shares_[tube].weight = weight; }
  void forget(TubeId tube) { shares_.erase(tube); }

  // Called before a choice with the tubes that have jobs.
  template <typename Tubes>
  void begin(const Tubes& tubes) {
    uint64_t least = UINT64_MAX;
    for (const TubeId tube : tubes) {
      const uint64_t pass = shares_[tube].pass;
      if (pass >= reached_) least = std::min(least, pass);
    }
    if (least == UINT64_MAX) least = reached_;
    for (const TubeId tube : tubes) {
      Share& share = shares_[tube];
      if (share.pass < reached_) share.pass = least;
    }
  }
  // REQUIRES: begin() was called with the tube since it has jobs.
  uint64_t pass_of(TubeId tube) const { return shares_.at(tube).pass; }
  // The tube, which has the least pass of all that have jobs, is served.
  void serve(TubeId tube) {
    Share& share = shares_[tube];
    reached_ = std::max(reached_, share.pass);
    share.pass = reached_ + stride_of_one / share.weight;
    if (reached_ >= rebase_at) rebase();
  }

  size_t memory_bytes() const {
    return shares_.capacity() * (sizeof(std::pair<TubeId, Share>) + 1);
  }

 private:
  struct Share {
    uint32_t weight = 1;
    uint64_t pass = 0;
  };
  static constexpr uint64_t rebase_at = uint64_t{1} << 63;

  // Only the differences between passes matter.
  void rebase() {
    for (auto& [tube, share] : shares_) share.pass -= std::min(share.pass, reached_);
    reached_ = 0;
  }

  absl::flat_hash_map<TubeId, Share> shares_;
  uint64_t reached_ = 0;  // The pass of the tube that was served last, when it was served.
};

}  // namespace perennial::engine
