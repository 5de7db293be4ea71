#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "engine/types/basic.h"

namespace perennial::store::cluster {

struct TrimLimits {
  // An entry is kept until so many nodes have it on their disks, 1 or more.
  size_t copies_min = 2;
  uint64_t keep_bytes = 64 << 20;  // So much of the newest stays for nodes that are away shortly.
  // Past this much, nodes that are behind are not waited for.
  uint64_t bytes_max = 256 << 20;
};

// The sizes of the log's entries, and which of them may be deleted. Pure.
class LogSize {
 public:
  explicit LogSize(const TrimLimits& limits) : limits_(limits) {}

  // The log begins after `base`, and nothing is known of earlier entries.
  void reset(BatchIndex base);
  // The entry that comes next, of `bytes`. REQUIRES: its index is last() + 1.
  void add(BatchIndex index, size_t bytes);
  // The entries before `first` have been deleted.
  void trimmed(BatchIndex first);

  BatchIndex first() const { return first_; }
  BatchIndex last() const { return first_ + sizes_.size() - 1; }
  uint64_t bytes() const { return bytes_; }

  // Returns the index before which all entries may be deleted, given what the disk of each live
  // node has; first() if none may. An entry may go when it is older than the newest keep_bytes and
  // all live nodes, copies_min at least, have it; past bytes_max, when copies_min have it.
  BatchIndex trim_before(std::span<const BatchIndex> flushed) const;
  // Whether the log is past bytes_max for want of nodes that have it: puts should wait.
  bool is_behind(std::span<const BatchIndex> flushed) const;

 private:
  // The newest index that at least `copies` nodes have; 0: none.
  static BatchIndex held_by(std::span<const BatchIndex> flushed, size_t copies);

  const TrimLimits limits_;
  BatchIndex first_ = 1;
  std::deque<uint32_t> sizes_;  // From first_ on.
  uint64_t bytes_ = 0;
};

}  // namespace perennial::store::cluster
