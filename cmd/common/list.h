#pragma once

#include <string_view>
#include <vector>

namespace perennial::common {

// The items between the separators of a text such as "a, b", without the spaces and tabs around
// them. An empty text, or one of spaces, has none; else there is one more than there are
// separators, and items may be empty: "a,,b" has three. The items are parts of `text`.
std::vector<std::string_view> list_items(std::string_view text, char separator = ',');

// Without the spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace perennial::common
