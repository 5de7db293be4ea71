#include "store/cluster/keys.h"

#include <charconv>

#include <fmt/format.h>

namespace perennial::store::cluster {
namespace {

constexpr size_t index_digits = 16;

}  // namespace

Keys::Keys(std::string_view cluster) : prefix_(fmt::format("/perennial/{}/", cluster)) {}

std::string Keys::entry(BatchIndex index) const {
  return fmt::format("{}log/{:0{}x}", prefix_, index, index_digits);
}

std::optional<BatchIndex> Keys::index_of(std::string_view key) const {
  const std::string begin = log();
  if (!key.starts_with(begin)) return std::nullopt;
  key.remove_prefix(begin.size());
  BatchIndex index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index, 16);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return key.size() == index_digits ? std::optional(index) : std::nullopt;
}

etcd::KeyRange Keys::entries_from(BatchIndex first) const {
  return {.key = entry(first), .end = etcd::keys_with_prefix(log()).end};
}

etcd::Get Keys::log_span() const {
  return {.range = entries_from(0), .limit = 1, .keys_only = true};
}

BatchIndex Keys::last_of(const etcd::Found& span) const {
  if (span.keys.empty()) return 0;
  const BatchIndex first = index_of(span.keys[0].key).value_or(0);
  return first + static_cast<BatchIndex>(span.count) - 1;
}

etcd::KeyRange Keys::entries_before(BatchIndex end) const {
  return {.key = entry(0), .end = entry(end)};
}

}  // namespace perennial::store::cluster
