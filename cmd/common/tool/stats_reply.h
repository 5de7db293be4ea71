#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"

namespace perennial::tool {

// What a server answers to stats, stats-job or stats-tube, in its order. Read line by line and not
// as YAML: before 1.13 beanstalkd quotes nothing that a client or a host has named, and what is
// not quoted may be no YAML ("#1 SMP").
class StatsReply {
 public:
  struct Field {
    std::string key;
    std::string value;    // Without its quotes.
    bool quoted = false;  // Then it is text, whatever it looks like.
  };

  // Io: it is not one "key: value" a line.
  static Result<StatsReply> parse(std::string_view document);

  const std::vector<Field>& fields() const { return fields_; }
  // None: the server does not have this key.
  std::optional<std::string_view> text(std::string_view key) const;
  // None likewise, and for what is no whole number.
  std::optional<uint64_t> number(std::string_view key) const;
  // 0 without one: for keys that beanstalkd has had since 1.0.
  uint64_t count(std::string_view key) const { return number(key).value_or(0); }

 private:
  std::vector<Field> fields_;
};

// The names of list-tubes. Io: it is not one "- name" a line.
Result<std::vector<std::string>> parse_tube_names(std::string_view document);

// One JSON object, ready to be printed: the fields in their order, numbers as numbers, true and
// false as such.
std::string to_json(const StatsReply& stats);

}  // namespace perennial::tool
