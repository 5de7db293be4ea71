#include "cmd/common/digest.h"

#include <array>
#include <cstdint>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "engine/types/check.h"

namespace perennial::common {

std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::string_view text) {
  std::array<uint8_t, SHA256_DIGEST_LENGTH> digest = {};
  unsigned bytes = 0;
  CHECK(::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
               reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
               &bytes) != nullptr);
  CHECK(bytes == digest.size());
  return digest;
}

std::string keyed_digest(std::string_view key, std::string_view text) {
  constexpr size_t digest_bytes = 8;
  const std::array<uint8_t, 32> whole = hmac_sha256(key, text);
  return fmt::format("{:02x}", fmt::join(std::span(whole).first(digest_bytes), ""));
}

}  // namespace perennial::common
