#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cmd/common/secret.h"

namespace perennial::http {

// The tokens of leases. A token is the number of a lease and the HMAC of that number and of its
// user, by a key that this object makes and keeps. So nobody can make one up, one of another user
// is none, and nothing has to be remembered of a lease that has ended.
class LeaseTokens {
 public:
  LeaseTokens();

  // False: the kernel has given no random numbers for the key, and there are no tokens.
  bool has_key() const { return !key_.empty(); }
  // REQUIRES: has_key(). `user`: empty where there are no users.
  std::string make(uint64_t lease, std::string_view user) const;
  // The number of the lease. None: make() has not made this token for this user.
  std::optional<uint64_t> lease_of(std::string_view token, std::string_view user) const;

 private:
  common::SecretText key_;
};

}  // namespace perennial::http
