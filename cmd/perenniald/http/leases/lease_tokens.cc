#include "cmd/perenniald/http/leases/lease_tokens.h"

#include <algorithm>

#include "cmd/common/base64.h"
#include "cmd/common/digest.h"
#include "cmd/common/token.h"

namespace perennial::http {
namespace {

constexpr size_t number_bytes = 8;

// The highest byte comes first.
std::string bytes_of(uint64_t lease) {
  std::string bytes(number_bytes, '\0');
  for (size_t i = 0; i < number_bytes; ++i) {
    bytes[i] = static_cast<char>(lease >> (8 * (number_bytes - 1 - i)));
  }
  return bytes;
}

uint64_t number_in(std::string_view bytes) {
  uint64_t number = 0;
  for (const char byte : bytes.substr(0, number_bytes)) {
    number = number << 8 | static_cast<uint8_t>(byte);
  }
  return number;
}

}  // namespace

// The secret of a token of a user has 256 random bits, too.
LeaseTokens::LeaseTokens() {
  Result<std::string> secret = common::make_token("lease");
  if (!secret.ok()) return;
  key_.assign(secret->begin(), secret->end());
  common::wipe(*secret);
}

std::string LeaseTokens::make(uint64_t lease, std::string_view user) const {
  std::string bytes = bytes_of(lease);
  const common::TokenHash digest = common::hmac_sha256(key_, bytes + std::string(user));
  bytes.append(digest.begin(), digest.end());
  return common::to_base64url(bytes);
}

std::optional<uint64_t> LeaseTokens::lease_of(std::string_view token, std::string_view user) const {
  common::TokenHash shown = {};
  const std::optional<std::string> bytes = common::from_base64url(token);
  if (!has_key() || !bytes || bytes->size() != number_bytes + shown.size()) return std::nullopt;
  std::copy(bytes->begin() + number_bytes, bytes->end(), shown.begin());
  const std::string text = bytes->substr(0, number_bytes) + std::string(user);
  if (!common::same_hash(common::hmac_sha256(key_, text), shown)) return std::nullopt;
  return number_in(*bytes);
}

}  // namespace perennial::http
