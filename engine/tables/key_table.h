#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"
#include "engine/types/job_fields.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// The keys that are held or in a cooldown, by tube and key. It only keeps them: the engine decides
// what becomes of a key. A tube is named, because a cooldown outlives its tube.
//
// No call takes long, however many keys there are: the keys are spread over many small maps, so
// that one that grows moves few of them.
class KeyTable {
 public:
  struct Entry {
    JobId job = 0;  // The job that holds the key or held it last.
    KeyUntil until = KeyUntil::Deleted;
    Nanos expires_at = 0;  // 0: held for as long as the job says.
  };
  // A tube and one of its keys.
  struct Name {
    std::string tube;
    std::string key;
  };

  // Returns null if the key is free. The pointer is valid until the next change.
  const Entry* find(std::string_view tube, std::string_view key) const;
  // The same, but null also if the time of the key is over: then it is free, even before its Tick.
  const Entry* find_taken(std::string_view tube, std::string_view key, Nanos now) const {
    const Entry* const entry = find(tube, key);
    const bool is_over = entry != nullptr && entry->expires_at > 0 && entry->expires_at <= now;
    return is_over ? nullptr : entry;
  }
  // Replaces what the table has of the key.
  void store(std::string_view tube, std::string_view key, const Entry& entry);
  // REQUIRES: the key is in the table.
  void erase(std::string_view tube, std::string_view key);

  size_t size() const { return size_; }
  // An estimate of the memory that the table uses, in bytes.
  size_t memory_bytes() const { return bytes_; }
  // The time of the entry that expires first; without a value if none expires.
  std::optional<Nanos> soonest() const;
  // The key that expires first. REQUIRES: soonest() has a value.
  Name first_to_expire() const;
  // A key of the tube that expires; without a value if there is none.
  std::optional<Name> any_that_expires(std::string_view tube) const;

  // Calls `visit(name, entry)` for each key, in no order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (const auto& shard : shards_) {
      for (const auto& [joined, entry] : shard) visit(split(joined), entry);
    }
  }

 private:
  static constexpr size_t shard_count = 256;
  using Shard = absl::flat_hash_map<std::string, Entry>;

  // The length of the tube's name in one byte, the name, and the key: so all keys of a tube have
  // the same beginning, and no other key has it.
  static std::string join(std::string_view tube, std::string_view key);
  static Name split(std::string_view joined);
  static size_t shard_of(std::string_view joined);
  void unlist(const std::string& joined, const Entry& entry);

  std::array<Shard, shard_count> shards_;
  // Those that expire, by time and by name.
  absl::btree_set<std::pair<Nanos, std::string>> by_expiry_;
  absl::btree_set<std::string> expiring_;
  size_t size_ = 0;
  size_t bytes_ = 0;
};

}  // namespace perennial::engine
