#include "cmd/common/base64.h"

#include <algorithm>
#include <cctype>

#include <absl/strings/escaping.h>

namespace perennial::common {

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
