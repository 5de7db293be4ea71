#include "store/cluster/records.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/types/check.h"

namespace perennial::store::cluster {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 3> role_names = {"joining", "standby", "leader"};

// Reads the fields of one object. After a field that is missing or has another type good() is
// false.
class Fields {
 public:
  explicit Fields(std::string_view text) : object_(Json::parse(text, nullptr, false)) {
    good_ = object_.is_object();
  }

  bool good() const { return good_; }
  std::string text(const char* name) {
    const Json* const field = find(name);
    good_ = good_ && field != nullptr && field->is_string();
    return good_ ? field->get<std::string>() : std::string();
  }
  uint64_t number(const char* name) {
    const Json* const field = find(name);
    good_ = good_ && field != nullptr && field->is_number_unsigned();
    return good_ ? field->get<uint64_t>() : 0;
  }
  std::string text_or_empty(const char* name) {
    return find(name) == nullptr ? std::string() : text(name);
  }
  uint64_t number_or(const char* name, uint64_t missing) {
    return find(name) == nullptr ? missing : number(name);
  }
  SettingDigests texts_or_none(const char* name) {
    const Json* const field = find(name);
    SettingDigests texts;
    if (field == nullptr) return texts;
    good_ = good_ && field->is_object();
    if (!good_) return texts;
    for (const auto& [key, value] : field->items()) {
      if (value.is_string()) texts.emplace(key, value.get<std::string>());
    }
    return texts;
  }
  std::optional<bool> flag_if_there(const char* name) {
    return find(name) == nullptr ? std::nullopt : std::optional(flag_or(name, false));
  }
  bool flag_or(const char* name, bool missing) {
    const Json* const field = find(name);
    if (field == nullptr) return missing;
    good_ = good_ && field->is_boolean();
    return good_ && field->get<bool>();
  }

 private:
  const Json* find(const char* name) const {
    if (!good_) return nullptr;
    const auto at = object_.find(name);
    return at == object_.end() ? nullptr : &*at;
  }

  Json object_;
  bool good_ = false;
};

std::optional<Role> role_of(std::string_view name) {
  for (size_t i = 0; i < role_names.size(); ++i) {
    if (role_names[i] == name) return static_cast<Role>(i);
  }
  return std::nullopt;
}

}  // namespace

bool is_same_boot(std::string_view one, std::string_view other) {
  return one == other || one.empty() || other.empty();
}

std::vector<std::string> differing(const SettingDigests& one, const SettingDigests& other) {
  std::vector<std::string> names;
  for (const auto& [name, digest] : one) {
    const auto found = other.find(name);
    if (found != other.end() && found->second != digest) names.push_back(name);
  }
  return names;
}

std::string_view name_of(Role role) {
  return role_names.at(static_cast<size_t>(role));
}

std::string encode(const LeaderRecord& record) {
  return Json({{"node", record.node},
               {"directory", record.directory},
               {"client_address", record.client_address},
               {"peer_address", record.peer_address},
               {"epoch", record.epoch},
               {"boot", record.boot},
               {"reads_forward_header", record.reads_forward_header}})
      .dump();
}

std::optional<LeaderRecord> decode_leader(std::string_view text) {
  Fields fields(text);
  LeaderRecord record = {.node = fields.text("node"),
                         .directory = fields.text("directory"),
                         .client_address = fields.text("client_address"),
                         .peer_address = fields.text("peer_address"),
                         .epoch = fields.number("epoch"),
                         .boot = fields.text_or_empty("boot"),
                         .reads_forward_header = fields.flag_or("reads_forward_header", false)};
  return fields.good() ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode(const NodeRecord& record) {
  Json out({{"node", record.node},
            {"directory", record.directory},
            {"client_address", record.client_address},
            {"peer_address", record.peer_address},
            {"version", record.version},
            {"role", name_of(record.role)},
            {"format", record.format},
            {"applied", record.applied},
            {"flushed", record.flushed},
            {"boot", record.boot},
            {"clock_ms", record.clock_ms},
            {"time_ms", record.time_ms},
            {"time_epoch", record.time_epoch},
            {"has_space", record.has_space},
            {"priority", record.priority}});
  if (record.is_damaged) out["is_damaged"] = true;
  if (record.reaches_leader) out["reaches_leader"] = *record.reaches_leader;
  if (!record.puts.empty()) out["puts"] = record.puts;
  if (!record.settings.empty()) out["settings"] = record.settings;
  return out.dump();
}

std::optional<NodeRecord> decode_node(std::string_view text) {
  Fields fields(text);
  NodeRecord record = {.node = fields.text("node"),
                       .directory = fields.text("directory"),
                       .client_address = fields.text("client_address"),
                       .peer_address = fields.text("peer_address"),
                       .version = fields.text("version"),
                       .format = static_cast<uint32_t>(fields.number("format")),
                       .applied = fields.number("applied"),
                       .flushed = fields.number("flushed"),
                       .boot = fields.text_or_empty("boot"),
                       .clock_ms = fields.number_or("clock_ms", 0),
                       .time_ms = fields.number_or("time_ms", 0),
                       .time_epoch = fields.number_or("time_epoch", 0),
                       .has_space = fields.flag_or("has_space", true),
                       .is_damaged = fields.flag_or("is_damaged", false),
                       .reaches_leader = fields.flag_if_there("reaches_leader"),
                       .priority = static_cast<uint32_t>(std::min<uint64_t>(
                           fields.number_or("priority", priority_default), priority_max)),
                       .puts = fields.text_or_empty("puts"),
                       .settings = fields.texts_or_none("settings")};
  const std::optional<Role> role = role_of(fields.text("role"));
  if (!fields.good() || !role) return std::nullopt;
  record.role = *role;
  return record;
}

std::string encode(const CopyRecord& record) {
  return Json({{"node", record.node},
               {"from", record.from},
               {"client_address", record.client_address},
               {"peer_address", record.peer_address},
               {"version", record.version},
               {"bytes", record.bytes},
               {"received_bytes", record.received_bytes}})
      .dump();
}

std::optional<CopyRecord> decode_copy(std::string_view text) {
  Fields fields(text);
  CopyRecord record = {.node = fields.text("node"),
                       .from = fields.text("from"),
                       .client_address = fields.text("client_address"),
                       .peer_address = fields.text("peer_address"),
                       .version = fields.text("version"),
                       .bytes = fields.number("bytes"),
                       .received_bytes = fields.number("received_bytes")};
  return fields.good() ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode(const RefusalRecord& record) {
  return Json({{"node", record.node},
               {"directory", record.directory},
               {"version", record.version},
               {"holds", record.holds},
               {"why", record.why}})
      .dump();
}

std::optional<RefusalRecord> decode_refusal(std::string_view text) {
  Fields fields(text);
  RefusalRecord record = {.node = fields.text("node"),
                          .directory = fields.text("directory"),
                          .version = fields.text("version"),
                          .holds = fields.number("holds"),
                          .why = fields.text("why")};
  return fields.good() ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode(const HandoverRecord& record) {
  return Json({{"epoch", record.epoch}, {"to", record.to}}).dump();
}

std::optional<HandoverRecord> decode_handover(std::string_view text) {
  Fields fields(text);
  HandoverRecord record = {.epoch = fields.number("epoch"), .to = fields.text("to")};
  return fields.good() ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode(const PauseRecord& record) {
  return Json({{"node", record.node}, {"directory", record.directory}}).dump();
}

std::optional<PauseRecord> decode_pause(std::string_view text) {
  Fields fields(text);
  PauseRecord record = {.node = fields.text("node"), .directory = fields.text("directory")};
  return fields.good() ? std::optional(std::move(record)) : std::nullopt;
}

std::string encode(const ElectionTimes& times) {
  return Json(times).dump();
}

ElectionTimes decode_elections(std::string_view text) {
  const Json list = Json::parse(text, nullptr, false);
  ElectionTimes times;
  if (!list.is_array()) return times;
  for (const Json& each : list) {
    if (each.is_number_unsigned()) times.push_back(each.get<uint64_t>());
  }
  return times;
}

std::string encode(uint64_t number) {
  return fmt::format("{}", number);
}

std::optional<uint64_t> decode_number(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace perennial::store::cluster
