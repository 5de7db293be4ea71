#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace perennial::common {

// HMAC-SHA-256 (RFC 2104).
std::array<uint8_t, 32> hmac_sha256(std::string_view key, std::string_view text);

// The first 64 bits of HMAC-SHA-256 as 16 hexadecimal digits. It tells whether two texts are alike,
// and nothing about a text that cannot be guessed.
std::string keyed_digest(std::string_view key, std::string_view text);

}  // namespace perennial::common
