#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/perennial/cluster/etcd_calls.h"
#include "engine/types/status.h"
#include "store/etcd/etcd.h"

// Keys by which an operator asks something of the nodes.
namespace perennial::tool {

// For how long, in seconds.
inline constexpr uint64_t for_s_min = 5;
inline constexpr uint64_t for_s_max = uint64_t{30} * 24 * 3600;

// Puts a key that ends by itself, in the place of an earlier one. Returns for how many seconds it
// is there, which may be more than was asked for. NotFound: a condition does not hold.
Result<uint64_t> put_for(EtcdCalls& etcd, const std::string& key, const std::string& value,
                         uint64_t seconds, std::vector<store::etcd::Compare> conditions = {});
// Returns whether the key was there.
Result<bool> remove_key(EtcdCalls& etcd, const std::string& key);

}  // namespace perennial::tool
