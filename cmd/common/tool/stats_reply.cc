#include "cmd/common/tool/stats_reply.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {
namespace {

// No server has as many. A JSON object takes time for each member that it has already.
constexpr size_t fields_max = 1000;
constexpr std::string_view document_start = "---";
constexpr std::string_view empty_list = "--- []\n";

// The values of these keys are text even if they consist of digits. The "id" of a job is a number;
// stats-job differs from stats by its key "state".
constexpr std::array text_keys = {"version", "perennial-version", "id",   "hostname",
                                  "os",      "platform",          "name", "tube"};

template <typename Number>
std::optional<Number> as_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

// Calls `take` with each line after the first, which starts the document. `take` returns whether
// the line is valid.
template <typename Take>
Status for_each_line(std::string_view document, Take take) {
  size_t at = document.find('\n');
  if (at == std::string_view::npos || document.substr(0, at) != document_start)
    return {StatusCode::Io, "the server sent statistics that do not begin with '---'"};
  for (++at; at < document.size();) {
    const size_t end = std::min(document.find('\n', at), document.size());
    const std::string_view line = document.substr(at, end - at);
    if (!take(line)) {
      return {StatusCode::Io,
              fmt::format("the server sent statistics with a line that is none: {:?}", line)};
    }
    at = end + 1;
  }
  return {};
}

bool is_text(const StatsReply& stats, const StatsReply::Field& field) {
  if (field.quoted) return true;
  if (field.key == "id" && stats.text("state")) return false;
  return std::ranges::find(text_keys, field.key) != text_keys.end();
}

nlohmann::ordered_json value_of(const StatsReply& stats, const StatsReply::Field& field) {
  if (is_text(stats, field)) return field.value;
  if (field.value == "true" || field.value == "false") return field.value == "true";
  if (const auto whole = as_number<int64_t>(field.value)) return *whole;
  if (const auto large = as_number<uint64_t>(field.value)) return *large;
  if (const auto broken = as_number<double>(field.value)) return *broken;
  return field.value;
}

}  // namespace

Result<StatsReply> StatsReply::parse(std::string_view document) {
  StatsReply reply;
  Status status = for_each_line(document, [&reply](std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == 0 || colon == std::string_view::npos) return false;
    if (reply.fields_.size() == fields_max) return false;
    std::string_view value = line.substr(colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    const bool quoted = value.size() >= 2 && value.front() == '"' && value.back() == '"';
    if (quoted) value = value.substr(1, value.size() - 2);
    reply.fields_.push_back({std::string(line.substr(0, colon)), std::string(value), quoted});
    return true;
  });
  if (!status.ok()) return status;
  return reply;
}

std::optional<std::string_view> StatsReply::text(std::string_view key) const {
  const auto found = std::ranges::find(fields_, key, &Field::key);
  if (found == fields_.end()) return std::nullopt;
  return found->value;
}

std::optional<uint64_t> StatsReply::number(std::string_view key) const {
  const std::optional<std::string_view> value = text(key);
  return value ? as_number<uint64_t>(*value) : std::nullopt;
}

std::optional<std::string_view> server_version(const StatsReply& stats) {
  const std::optional<std::string_view> own = stats.text("perennial-version");
  return own ? own : stats.text("version");
}

Result<std::vector<std::string>> parse_names(std::string_view document) {
  std::vector<std::string> names;
  if (document == empty_list) return names;
  Status status = for_each_line(document, [&names](std::string_view line) {
    if (!line.starts_with("- ")) return false;
    names.emplace_back(line.substr(2));
    return true;
  });
  if (!status.ok()) return status;
  return names;
}

std::string to_json(const StatsReply& stats) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  for (const StatsReply::Field& field : stats.fields()) out[field.key] = value_of(stats, field);
  return out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace perennial::tool
