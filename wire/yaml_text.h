#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace perennial::wire {

// Text of any bytes in double quotes, as every reader of YAML takes it (YAML 1.2, 5.1 and 5.7): a
// byte that is no UTF-8 becomes U+FFFD, and what YAML calls not printable is escaped.
std::string yaml_text(std::string_view text);
// The reverse, of what yaml_text() writes. Without a value if it writes nothing of the kind.
std::optional<std::string> read_yaml_text(std::string_view quoted);

}  // namespace perennial::wire
