#include "cmd/common/base64.h"

#include <algorithm>
#include <cctype>
#include <climits>

#include <openssl/evp.h>

namespace perennial::common {

// OpenSSL passes over white space at both ends, and counts the padding as bytes.
std::optional<std::string> from_base64(std::string_view text) {
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  const bool is_good = text.size() % 4 == 0 && text.size() <= INT_MAX &&
                       std::ranges::all_of(digits, [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '+' || c == '/';
                       });
  if (!is_good) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int length = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                       reinterpret_cast<const unsigned char*>(text.data()),
                                       static_cast<int>(text.size()));
  if (length < 0) return std::nullopt;
  out.resize(static_cast<size_t>(length) - padding);
  return out;
}

}  // namespace perennial::common
