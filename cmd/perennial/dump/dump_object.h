#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/types/basic.h"
#include "engine/types/status.h"

// Only parsers of this folder include this header.
namespace perennial::tool {

// Takes values out of a JSON object. The first missing or invalid value becomes the status, and
// after it only zeros are returned.
class DumpObject {
 public:
  DumpObject(const nlohmann::json& object, std::string name,
             std::span<const std::string_view> fields)
      : object_(object), name_(std::move(name)) {
    if (!object.is_object()) {
      fail(fmt::format("{} is no object", name_));
      return;
    }
    for (const auto& [key, value] : object.items()) {
      if (std::ranges::find(fields, key) == fields.end()) {
        fail(fmt::format("{} has an unknown field {}", name_, key));
      }
    }
  }

  DumpObject(const nlohmann::json& object, std::string name,
             std::initializer_list<std::string_view> fields)
      : DumpObject(object, std::move(name), std::span(fields.begin(), fields.size())) {}

  bool has(const char* key) const { return status_.ok() && object_.contains(key); }
  // Returns null if the key is missing.
  const nlohmann::json& at(const char* key) {
    static const nlohmann::json none;
    if (!status_.ok()) return none;
    const auto found = object_.find(key);
    if (found != object_.end()) return *found;
    fail(fmt::format("{} has no {}", name_, key));
    return none;
  }
  uint64_t number(const char* key, uint64_t highest = std::numeric_limits<uint64_t>::max()) {
    const nlohmann::json& value = at(key);
    if (!status_.ok()) return 0;
    if (value.is_number_unsigned() && value.get<uint64_t>() <= highest) return value;
    fail(fmt::format("{} of {} is not a number in its range", key, name_));
    return 0;
  }
  std::string text(const char* key) {
    const nlohmann::json& value = at(key);
    if (status_.ok() && !value.is_string()) fail(fmt::format("{} of {} is no text", key, name_));
    return status_.ok() ? value.get<std::string>() : std::string();
  }
  bool flag(const char* key) {
    const nlohmann::json& value = at(key);
    if (status_.ok() && !value.is_boolean()) {
      fail(fmt::format("{} of {} is not true or false", key, name_));
    }
    return status_.ok() && value.get<bool>();
  }
  Nanos nanos(const char* key) {
    return static_cast<Nanos>(number(key, std::numeric_limits<Nanos>::max()));
  }
  uint32_t small(const char* key) { return static_cast<uint32_t>(number(key, UINT32_MAX)); }
  const nlohmann::json& list(const char* key) {
    static const nlohmann::json none = nlohmann::json::array();
    const nlohmann::json& value = at(key);
    if (status_.ok() && !value.is_array()) fail(fmt::format("{} of {} is no list", key, name_));
    return status_.ok() ? value : none;
  }
  void fail(std::string message) {
    if (status_.ok()) status_ = Status(StatusCode::Corruption, std::move(message));
  }
  const Status& status() const { return status_; }

 private:
  const nlohmann::json& object_;
  const std::string name_;
  Status status_;
};

}  // namespace perennial::tool
