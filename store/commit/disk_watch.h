#pragma once

#include <cstdint>
#include <string_view>

#include "engine/types/basic.h"
#include "store/store.h"

namespace perennial::store {

// What puts must know of the disk.
struct DiskSeen {
  bool room = true;               // Whether there is room for more jobs.
  bool behind = false;            // Whether puts should wait for flushes and compactions: debt.h.
  std::string_view state = "ok";  // In a word, for stats: ok, behind, or how room is scarce.

  bool operator==(const DiskSeen&) const = default;
};

// Decides when the writing thread looks at the disk: how much room is left (room.h), and how far
// RocksDB is behind with flushes and compactions (debt.h). Once a second, and sooner when much was
// written or while puts wait for the outcome. It has no thread: whoever writes asks it.
class DiskWatch {
 public:
  // The store outlives this.
  explicit DiskWatch(Store& store);

  // Whether it is time to look. Pure but for the store's clock.
  bool is_due() const;
  // Whether so much was written at once that a look should follow before anybody is told of it:
  // what it took is no longer on its way then.
  static bool is_much(uint64_t bytes) { return bytes >= look_bytes; }
  // For how long nobody needs to ask, if nothing is written.
  Nanos interval() const;
  // Looks. Returns whether seen() has changed.
  bool look();
  const DiskSeen& seen() const { return seen_; }

 private:
  static constexpr uint64_t look_bytes = 4 << 20;

  DiskSeen see() const;

  Store& store_;
  DiskSeen seen_;
  Nanos look_due_ = 0;
  uint64_t looked_at_bytes_ = 0;  // How much had been written at the last look.
};

}  // namespace perennial::store
