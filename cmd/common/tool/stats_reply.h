#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"

namespace perennial::tool {

// The answer to stats, stats-job or stats-tube, with its fields in order. It is parsed line by line
// and not as YAML: before 1.13 beanstalkd quotes no name that comes from a client or a host, and an
// unquoted value may be invalid YAML ("#1 SMP").
class StatsReply {
 public:
  struct Field {
    std::string key;
    std::string value;    // Without its quotes.
    bool quoted = false;  // A quoted value is text, even if it looks like a number.
  };

  // Io: a line is not "key: value".
  static Result<StatsReply> parse(std::string_view document);

  const std::vector<Field>& fields() const { return fields_; }
  // Without a value if the server does not have this key.
  std::optional<std::string_view> text(std::string_view key) const;
  // Without a value if the key is missing or its value is not a whole number.
  std::optional<uint64_t> number(std::string_view key) const;
  // The number of a key, or 0 without one. For keys that beanstalkd has had since 1.0.
  uint64_t count(std::string_view key) const { return number(key).value_or(0); }

 private:
  std::vector<Field> fields_;
};

// The server's own version. What a perennial calls `version` is that of the protocol.
std::optional<std::string_view> server_version(const StatsReply& stats);

// Parses the answer to list-tubes or to extensions. Io: a line is not "- name".
Result<std::vector<std::string>> parse_names(std::string_view document);

// Returns one JSON object, ready to be printed, with the fields in their order. Numbers, true and
// false are JSON's own.
std::string to_json(const StatsReply& stats);

}  // namespace perennial::tool
