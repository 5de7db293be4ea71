#include "cmd/perenniald/process/log_json.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace perennial::perenniald {
namespace {

// A text in quotes, for JSON. What is no UTF-8 is replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// Takes the value off the text, in which it is the first thing.
std::string take_value(std::string_view& text) {
  if (!text.starts_with('"')) {
    const size_t end = std::min(text.find(' '), text.size());
    std::string value(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  std::string value;
  text.remove_prefix(1);
  while (!text.empty() && text.front() != '"') {
    if (text.starts_with("\\\"") || text.starts_with("\\\\")) {
      text.remove_prefix(1);
    } else if (text.starts_with("\\n")) {
      value += '\n';
      text.remove_prefix(2);
      continue;
    }
    value += text.front();
    text.remove_prefix(1);
  }
  text.remove_prefix(std::min<size_t>(1, text.size()));  // The quote behind it.
  return value;
}

}  // namespace

std::string json_members(std::string_view fields) {
  std::string out;
  while (!fields.empty()) {
    const size_t end = std::min(fields.find('='), fields.size());
    const std::string key(fields.substr(0, end));
    fields.remove_prefix(std::min(end + 1, fields.size()));
    if (!out.empty()) out += ',';
    out += quoted(key) + ':' + quoted(take_value(fields));
    fields.remove_prefix(std::min<size_t>(1, fields.size()));  // The space behind it.
  }
  return out;
}

}  // namespace perennial::perenniald
