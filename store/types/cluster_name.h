#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace perennial::store {

inline constexpr size_t cluster_name_bytes_max = 64;

// Whether a cluster or a node may have this name: 1 to 64 of the characters a-z, A-Z, 0-9, '-', '_'
// and '.'. It is part of keys in etcd.
inline bool is_cluster_name(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  };
  return !name.empty() && name.size() <= cluster_name_bytes_max &&
         std::ranges::all_of(name, is_good);
}

}  // namespace perennial::store
