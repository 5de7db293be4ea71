#include <string>

#include "engine/types/check.h"
#include "store/format/bytes.h"
#include "store/format/fields.h"
#include "store/format/format.h"

// The rows of the family `keys`, and the settings of tubes in meta.
namespace perennial::store {
namespace {

// The offset of each part of a key's row. README.md draws the row.
namespace key_at {
constexpr size_t until = 1, unused = 2, job = 8, expires_at = 16, end = 24;
}  // namespace key_at

}  // namespace

std::string_view problem(const KeyFreed& key) {
  if (const std::string_view wrong = tube_name_problem(key.tube); !wrong.empty()) return wrong;
  return is_key_of_right_length(key.key) ? "" : "the key is empty or too long";
}

std::string_view problem(const KeyStored& key) {
  const std::string_view wrong = problem(KeyFreed{.tube = key.tube, .key = key.key});
  if (!wrong.empty()) return wrong;
  if (key.job == 0) return "job id is 0";
  if (key.expires_at < 0) return "expires before the epoch";
  if (key.until == KeyUntil::Ttl && key.expires_at == 0) return "a key for a time without its end";
  return {};
}

std::string_view problem(const SettingsStored& stored) {
  if (const std::string_view wrong = tube_name_problem(stored.tube); !wrong.empty()) return wrong;
  return problem(stored.settings);
}

std::string key_row_key(std::string_view tube, std::string_view key) {
  CHECK(tube_name_problem(tube).empty());
  std::string out;
  out.reserve(1 + tube.size() + key.size());
  out += static_cast<char>(tube.size());
  out += tube;
  out += key;
  return out;
}

Bytes<key_row_bytes> encode(const KeyStored& key) {
  static_assert(key_at::end == key_row_bytes);
  CHECK(problem(key).empty());
  Bytes<key_row_bytes> value = {};
  put(value.data(), row_format);
  put(value.data() + key_at::until, static_cast<uint8_t>(stored_until(key.until)));
  put(value.data() + key_at::job, key.job);
  put(value.data() + key_at::expires_at, key.expires_at);
  return value;
}

Result<KeyStored> decode_key(std::string_view key, std::string_view value) {
  const auto refuse = [key](std::string_view what) { return damaged(Family::Keys, key, what); };
  const size_t name_bytes = key.empty() ? 0 : static_cast<uint8_t>(key[0]);
  if (key.size() < 1 + name_bytes) return refuse("key of the wrong length");
  std::string_view wrong = shape_problem(value, key_at::end, 1);
  if (!wrong.empty()) return refuse(wrong);
  if (!all_zero(value.substr(key_at::unused, key_at::job - key_at::unused))) {
    return refuse("unused bytes are not zero");
  }
  KeyStored out = {.tube = std::string(key.substr(1, name_bytes)),
                   .key = std::string(key.substr(1 + name_bytes)),
                   .job = get<JobId>(value, key_at::job),
                   .until = {},
                   .expires_at = get<Nanos>(value, key_at::expires_at)};
  if (!decode_until(get<uint8_t>(value, key_at::until), out.until)) {
    return refuse("it is held for an unknown time");
  }
  wrong = problem(out);
  if (!wrong.empty()) return refuse(wrong);
  return out;
}

std::string settings_key(std::string_view tube) {
  return static_cast<char>(MetaTag::Settings) + std::string(tube);
}

std::string encode(const SettingsStored& stored) {
  CHECK(problem(stored).empty());
  std::string value(1, static_cast<char>(row_format));
  add_fields(stored.settings, value);
  return value;
}

Result<SettingsStored> decode_settings(std::string_view key, std::string_view value) {
  SettingsStored out = {.tube = std::string(key.substr(1)), .settings = {}};
  const std::string_view wrong = shape_problem(value, value.size(), 1);
  if (!wrong.empty()) return damaged(Family::Meta, key, wrong);
  const std::string problem_of_fields = decode_fields(value.substr(1), out.settings);
  if (!problem_of_fields.empty()) return damaged(Family::Meta, key, problem_of_fields);
  const std::string_view problem_of_name = tube_name_problem(out.tube);
  if (!problem_of_name.empty()) return damaged(Family::Meta, key, problem_of_name);
  return out;
}

}  // namespace perennial::store
