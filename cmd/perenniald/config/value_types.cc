#include "cmd/perenniald/config/value_types.h"

#include "cmd/common/units.h"
#include "cmd/perenniald/access/users.h"
#include "wire/command_line.h"

namespace perennial::perenniald {
namespace {

constexpr size_t path_bytes_max = 4096;

Status not_in_range(const ConfigField& field, std::string_view text, std::string_view what) {
  return bad_value(fmt::format("'{}' is not a {} from {} to {}", text, what,
                               field.type().texts(&field.lowest, field)[0],
                               field.type().texts(&field.highest, field)[0]));
}

bool is_in_range(const ConfigField& field, const Result<uint64_t>& value) {
  return value.ok() && field.lowest <= *value && *value <= field.highest;
}

}  // namespace

Status bad_value(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

Status set_count(uint64_t& member, const ConfigField& field, std::string_view text) {
  const Result<uint64_t> value = common::parse_count(text);
  if (!is_in_range(field, value)) return not_in_range(field, text, "whole number");
  member = *value;
  return {};
}

std::string count_text(const uint64_t& value, const ConfigField&) {
  return fmt::format("{}", value);
}

Status set_bytes(uint64_t& member, const ConfigField& field, std::string_view text) {
  const Result<uint64_t> value = common::parse_bytes(text);
  if (!is_in_range(field, value)) return not_in_range(field, text, "number of bytes");
  member = *value;
  return {};
}

std::string bytes_text(const uint64_t& value, const ConfigField&) {
  return common::format_bytes(value);
}

Status set_switch(bool& member, const ConfigField&, std::string_view text) {
  if (text != "true" && text != "false") {
    return bad_value(fmt::format("'{}' is not true or false", text));
  }
  member = text == "true";
  return {};
}

std::string switch_text(const bool& value, const ConfigField&) {
  return value ? "true" : "false";
}

Status set_text(std::string& member, const ConfigField& field, std::string_view text) {
  if (text.size() < field.lowest) return bad_value("must not be empty");
  if (text.size() > field.highest) {
    return bad_value(fmt::format("{} bytes are too long: at most {}", text.size(), field.highest));
  }
  member = text;
  return {};
}

Status set_file(std::string& member, const ConfigField&, std::string_view text) {
  if (text.empty() || text.size() > path_bytes_max) {
    return bad_value(fmt::format("expected the path of a file of 1 to {} bytes", path_bytes_max));
  }
  member = text;
  return {};
}

std::string text_of(const std::string& value, const ConfigField&) {
  return value;
}

Status add_pattern(std::vector<std::string>& member, const ConfigField&, std::string_view text) {
  if (Status status = check_tube_pattern(text); !status.ok()) return status;
  member.emplace_back(text);
  return {};
}

std::vector<std::string> texts_of(const std::vector<std::string>& values) {
  return values;
}

bool is_tube_pattern(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > access::pattern_bytes_max) return false;
  std::string name(pattern);
  std::ranges::replace(name, '*', 'x');
  return wire::is_tube_name(name);
}

Status check_tube_pattern(std::string_view text) {
  if (is_tube_pattern(text)) return {};
  return bad_value(
      fmt::format("'{}' is not the name of a tube, in which '*' may stand for any bytes", text));
}

}  // namespace perennial::perenniald
