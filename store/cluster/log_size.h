#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::store::cluster {

// Whether the leader accepts new jobs. All other commands are served in any case.
enum class Puts : uint8_t {
  Accepted,
  // They wait, as for a slow disk, until enough nodes have the entries of a log that is too large
  // (`copies_min`, `log_bytes_max`).
  Held,
  Refused,  // etcd's database is nearly as large as its quota.
};

constexpr std::string_view puts_name(Puts puts) {
  switch (puts) {
    case Puts::Accepted:
      return "accepted";
    case Puts::Held:
      return "held";
    case Puts::Refused:
      break;
  }
  return "refused";
}

struct TrimLimits {
  // How many nodes must have an entry on disk before it may be trimmed, 1 or more.
  size_t copies_min = 2;
  uint64_t keep_bytes = 64 << 20;  // Newest bytes kept for nodes that are briefly down.
  // Above this size lagging nodes are not waited for: copies_min nodes suffice.
  uint64_t bytes_max = 256 << 20;
};

// The sizes of the entries of the log, and which of them may be trimmed. It is pure: it calls
// nobody.
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
  // Whether the log is larger than bytes_max and cannot be trimmed, because too few nodes have it:
  // puts should wait.
  bool must_hold_puts(std::span<const BatchIndex> flushed) const;

 private:
  // The newest index that at least `copies` nodes have; 0: none.
  static BatchIndex held_by(std::span<const BatchIndex> flushed, size_t copies);

  const TrimLimits limits_;
  BatchIndex first_ = 1;
  std::deque<uint32_t> sizes_;  // From first_ on.
  uint64_t bytes_ = 0;
};

}  // namespace perennial::store::cluster
