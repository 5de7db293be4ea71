#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

// Finds documents in which a path has a value. A document is read once, by a parser that keeps no
// tree of it and does not recurse, so that no document makes it slow or deep (T32).
namespace perennial::http {

// "$.customer.id", "$.items[0].sku", "$.items[*].sku", "$['a name'].b": members and elements from
// the outermost value on. "$" is that value itself.
class JsonPath {
 public:
  struct AnyElement {};
  using Step = std::variant<std::string, size_t, AnyElement>;

  // None: the text is no path, or has more steps than a document has levels.
  static std::optional<JsonPath> parse(std::string_view text);

  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
};

// A document deeper or longer than this has no values.
inline constexpr size_t json_levels_max = 64;
inline constexpr size_t json_bytes_max = 16 << 20;

// The number, text in quotes, true, false or null that `text` is, else `text` itself as a text.
nlohmann::json scalar_of(std::string_view text);

// Whether `document` is JSON in which the path leads to the value, or one of the paths where it has
// [*]. Of numbers the values count: 42.0 is 42.
bool has_value(std::string_view document, const JsonPath& path, const nlohmann::json& value);

}  // namespace perennial::http
