#pragma once

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "cmd/perenniald/net/acceptor.h"

namespace perennial::perenniald {

// The address for which a client counts: of IPv6 its network of 64 bits. Empty: it is on this
// machine, where addresses tell nothing, and counts for nobody.
std::string share_of(const AcceptedSocket& socket);

// How many connections each address has.
class AddressShares {
 public:
  explicit AddressShares(uint64_t per_address_max) : per_address_max_(per_address_max) {}

  // Whether it may have one more.
  bool has_place(const std::string& share) const {
    const auto found = counts_.find(share);
    return found == counts_.end() || found->second < per_address_max_;
  }
  void add(const std::string& share) {
    if (!share.empty()) ++counts_[share];
  }
  // REQUIRES: it was added.
  void remove(const std::string& share);
  size_t addresses() const { return counts_.size(); }

 private:
  const uint64_t per_address_max_;
  absl::flat_hash_map<std::string, uint64_t> counts_;
};

}  // namespace perennial::perenniald
