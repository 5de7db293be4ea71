#include "tests/support/reply_text.h"

#include <charconv>
#include <string>

namespace perennial::support {

uint64_t first_number(std::string_view reply) {
  uint64_t number = 0;
  const size_t space = reply.find(' ');
  if (space != std::string_view::npos)
    std::from_chars(reply.data() + space + 1, reply.data() + reply.size(), number);
  return number;
}

std::string_view body_in(std::string_view reply) {
  const size_t line = reply.find("\r\n") + 2;
  return reply.substr(line, reply.size() - line - 2);
}

uint64_t yaml_number(std::string_view yaml, std::string_view key, uint64_t missing) {
  const std::string_view text = yaml_value(yaml, key);
  std::from_chars(text.data(), text.data() + text.size(), missing);
  return missing;
}

std::string_view yaml_value(std::string_view yaml, std::string_view key) {
  std::string start = "\n";
  start.append(key).append(": ");
  const size_t at = yaml.find(start);
  if (at == std::string_view::npos) return {};
  std::string_view value = yaml.substr(at + start.size());
  value = value.substr(0, value.find('\n'));
  if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
  return value;
}

}  // namespace perennial::support
