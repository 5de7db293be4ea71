#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

// Tokens: what a client shows with the command `auth`. A token is `prn_<id>_<secret>`: an id of
// small letters and digits, and 256 random bits as 43 characters of base64url. So many bits need no
// slow hash, which a client could use to stall the server. The server keeps only the id and the
// SHA-256 of the whole token.
namespace perennial::common {

inline constexpr size_t token_id_bytes_max = 32;
inline constexpr size_t token_secret_bytes = 43;
inline constexpr std::string_view token_prefix = "prn_";

using TokenHash = std::array<uint8_t, 32>;

// What a server keeps of a token. As text it is `<id>:sha256:<64 hexadecimal digits>`.
struct TokenRecord {
  std::string id;
  TokenHash hash = {};

  bool operator==(const TokenRecord&) const = default;
};

// Whether the text may be the id of a token.
bool is_token_id(std::string_view id);

// Makes a token from the kernel's random numbers. Without an id it gets a random one. Io: there are
// none.
Result<std::string> make_token(std::string_view id = {});

// The id of a token; empty if the text has not the form of one.
std::string_view token_id(std::string_view token);
TokenHash token_hash(std::string_view token);
// Compares in a time that does not depend on the bytes.
bool same_hash(const TokenHash& one, const TokenHash& other);

TokenRecord token_record(std::string_view token);
std::string token_text(const TokenRecord& record);
// InvalidArgument: the message says what is expected, and does not repeat the text, because it may
// be a token that was put there by mistake.
Result<TokenRecord> parse_token_record(std::string_view text);

}  // namespace perennial::common
