#include "cmd/common/token.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include <absl/strings/escaping.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <sys/random.h>

#include "engine/types/check.h"

namespace perennial::common {
namespace {

constexpr std::string_view algorithm = ":sha256:";
constexpr size_t random_id_bytes = 8;

bool is_id_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_secret_byte(char c) {
  return is_id_byte(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

Status fill_random(std::span<uint8_t> bytes) {
  if (::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size())) return {};
  return {StatusCode::Io, fmt::format("no random numbers: {}", std::strerror(errno))};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool parse_hex(std::string_view text, TokenHash& hash) {
  if (text.size() != 2 * hash.size()) return false;
  for (size_t i = 0; i < hash.size(); ++i) {
    const int high = hex_digit(text[2 * i]);
    const int low = hex_digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    hash[i] = static_cast<uint8_t>(16 * high + low);
  }
  return true;
}

}  // namespace

bool is_token_id(std::string_view id) {
  return !id.empty() && id.size() <= token_id_bytes_max && std::ranges::all_of(id, is_id_byte);
}

Result<std::string> make_token(std::string_view id) {
  CHECK(id.empty() || is_token_id(id));
  std::array<uint8_t, 32> secret = {};
  std::array<uint8_t, random_id_bytes / 2> random_id = {};
  if (Status filled = fill_random(secret); !filled.ok()) return filled;
  if (Status filled = fill_random(random_id); !filled.ok()) return filled;
  const std::string text =
      absl::WebSafeBase64Escape({reinterpret_cast<const char*>(secret.data()), secret.size()});
  CHECK(text.size() == token_secret_bytes);
  if (!id.empty()) return fmt::format("{}{}_{}", token_prefix, id, text);
  return fmt::format("{}{:02x}_{}", token_prefix, fmt::join(random_id, ""), text);
}

std::string_view token_id(std::string_view token) {
  constexpr size_t around = token_prefix.size() + 1 + token_secret_bytes;
  if (!token.starts_with(token_prefix) || token.size() <= around) return {};
  const std::string_view id = token.substr(token_prefix.size(), token.size() - around);
  const std::string_view secret = token.substr(token.size() - token_secret_bytes);
  const bool is_token = is_token_id(id) && token[token_prefix.size() + id.size()] == '_' &&
                        std::ranges::all_of(secret, is_secret_byte);
  return is_token ? id : std::string_view();
}

TokenHash token_hash(std::string_view token) {
  TokenHash hash;
  static_assert(hash.size() == SHA256_DIGEST_LENGTH);
  CHECK(::EVP_Digest(token.data(), token.size(), hash.data(), nullptr, ::EVP_sha256(), nullptr) ==
        1);
  return hash;
}

bool same_hash(const TokenHash& one, const TokenHash& other) {
  return ::CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

TokenRecord token_record(std::string_view token) {
  return {.id = std::string(token_id(token)), .hash = token_hash(token)};
}

std::string token_text(const TokenRecord& record) {
  return fmt::format("{}{}{:02x}", record.id, algorithm, fmt::join(record.hash, ""));
}

Result<TokenRecord> parse_token_record(std::string_view text) {
  TokenRecord record;
  const size_t colon = text.find(algorithm);
  const bool is_record = colon != std::string_view::npos && is_token_id(text.substr(0, colon)) &&
                         parse_hex(text.substr(colon + algorithm.size()), record.hash);
  if (!is_record) {
    return Status(StatusCode::InvalidArgument,
                  "a token is kept as '<id>:sha256:<64 hexadecimal digits>', as perennial token "
                  "new prints it; the token itself does not belong here");
  }
  record.id = text.substr(0, colon);
  return record;
}

}  // namespace perennial::common
