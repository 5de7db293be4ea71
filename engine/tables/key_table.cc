#include "engine/tables/key_table.h"

#include "absl/hash/hash.h"
#include "engine/types/check.h"

namespace perennial::engine {
namespace {

// What an entry of a map costs besides its bytes.
constexpr size_t entry_bytes = 60;

}  // namespace

std::string KeyTable::join(std::string_view tube, std::string_view key) {
  CHECK(tube.size() <= tube_name_bytes_max);
  std::string joined(1, static_cast<char>(tube.size()));
  joined.append(tube);
  joined.append(key);
  return joined;
}

KeyTable::Name KeyTable::split(std::string_view joined) {
  const size_t tube_bytes = static_cast<unsigned char>(joined.front());
  return {std::string(joined.substr(1, tube_bytes)), std::string(joined.substr(1 + tube_bytes))};
}

size_t KeyTable::shard_of(std::string_view joined) {
  return absl::Hash<std::string_view>()(joined) % shard_count;
}

const KeyTable::Entry* KeyTable::find(std::string_view tube, std::string_view key) const {
  const std::string joined = join(tube, key);
  const Shard& shard = shards_[shard_of(joined)];
  const auto found = shard.find(joined);
  return found != shard.end() ? &found->second : nullptr;
}

void KeyTable::unlist(const std::string& joined, const Entry& entry) {
  if (entry.expires_at == 0) return;
  CHECK(by_expiry_.erase({entry.expires_at, joined}) == 1);
  CHECK(expiring_.erase(joined) == 1);
  bytes_ -= 2 * (joined.size() + entry_bytes);
}

void KeyTable::store(std::string_view tube, std::string_view key, const Entry& entry) {
  const std::string joined = join(tube, key);
  Shard& shard = shards_[shard_of(joined)];
  const auto [place, is_new] = shard.try_emplace(joined, entry);
  if (is_new) {
    ++size_;
    bytes_ += joined.size() + entry_bytes;
  } else {
    unlist(joined, place->second);
    place->second = entry;
  }
  if (entry.expires_at == 0) return;
  by_expiry_.emplace(entry.expires_at, joined);
  expiring_.insert(joined);
  bytes_ += 2 * (joined.size() + entry_bytes);
}

void KeyTable::erase(std::string_view tube, std::string_view key) {
  const std::string joined = join(tube, key);
  Shard& shard = shards_[shard_of(joined)];
  const auto found = shard.find(joined);
  CHECK(found != shard.end());
  unlist(joined, found->second);
  shard.erase(found);
  --size_;
  bytes_ -= joined.size() + entry_bytes;
}

std::optional<Nanos> KeyTable::soonest() const {
  if (by_expiry_.empty()) return std::nullopt;
  return by_expiry_.begin()->first;
}

KeyTable::Name KeyTable::first_to_expire() const {
  return split(by_expiry_.begin()->second);
}

std::optional<KeyTable::Name> KeyTable::any_that_expires(std::string_view tube) const {
  const std::string prefix = join(tube, {});
  const auto first = expiring_.lower_bound(prefix);
  if (first == expiring_.end() || !first->starts_with(prefix)) return std::nullopt;
  return split(*first);
}

}  // namespace perennial::engine
