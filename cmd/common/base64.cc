#include "cmd/common/base64.h"

#include <algorithm>
#include <cctype>

#include <absl/strings/escaping.h>

namespace perennial::common {

std::string to_base64(std::string_view bytes) {
  return absl::Base64Escape({bytes.data(), bytes.size()});
}

std::string to_base64url(std::string_view bytes) {
  return absl::WebSafeBase64Escape({bytes.data(), bytes.size()});
}

// Only the text that to_base64url() makes of the bytes stands for them.
std::optional<std::string> from_base64url(std::string_view text) {
  std::string out;
  if (!absl::WebSafeBase64Unescape({text.data(), text.size()}, &out)) return std::nullopt;
  return to_base64url(out) == text ? std::optional(std::move(out)) : std::nullopt;
}

// absl passes over white space, and takes texts without padding.
std::optional<std::string> from_base64(std::string_view text) {
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const std::string_view digits = text.substr(0, text.size() - padding);
  const bool is_good = text.size() % 4 == 0 && std::ranges::all_of(digits, [](unsigned char c) {
                         return std::isalnum(c) != 0 || c == '+' || c == '/';
                       });
  std::string out;
  if (!is_good || !absl::Base64Unescape({text.data(), text.size()}, &out)) return std::nullopt;
  return out;
}

}  // namespace perennial::common
