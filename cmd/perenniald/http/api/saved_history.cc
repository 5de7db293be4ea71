#include "cmd/perenniald/http/api/saved_history.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {
namespace {

// No span has so many.
constexpr size_t rows_max = 100'000;

// JSON knows no NaN.
Json values_of(const std::vector<float>& column) {
  Json out = Json::array();
  for (const float value : column) out.push_back(std::isnan(value) ? Json() : Json(value));
  return out;
}

std::optional<std::vector<float>> column_of(const Json& values) {
  if (!values.is_array() || values.size() > rows_max) return std::nullopt;
  std::vector<float> column;
  column.reserve(values.size());
  for (const Json& value : values) {
    if (!value.is_number() && !value.is_null()) return std::nullopt;
    column.push_back(value.is_null() ? std::numeric_limits<float>::quiet_NaN()
                                     : value.get<float>());
  }
  return column;
}

bool is_time(const Json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX;
}

std::optional<SavedRows> rows_of(const Json& span) {
  if (!span.is_object()) return std::nullopt;
  const auto step = span.find("step_ns");
  const auto last_at = span.find("last_at_ns");
  const auto series = span.find("series");
  const bool is_good = step != span.end() && is_time(*step) && last_at != span.end() &&
                       is_time(*last_at) && series != span.end() && series->is_object();
  if (!is_good) return std::nullopt;
  SavedRows rows = {.step = step->get<Nanos>(), .last_at = last_at->get<Nanos>(), .columns = {}};
  for (const auto& [name, values] : series->items()) {
    std::optional<std::vector<float>> column = column_of(values);
    if (!column) return std::nullopt;
    rows.columns.emplace(name, *std::move(column));
  }
  return rows;
}

}  // namespace

std::string text_of(const SavedHistory& history) {
  Json spans = Json::array();
  for (const SavedRows& rows : history) {
    Json series = Json::object();
    for (const auto& [name, column] : rows.columns) series[name] = values_of(column);
    spans.push_back(
        {{"step_ns", rows.step}, {"last_at_ns", rows.last_at}, {"series", std::move(series)}});
  }
  return Json({{"spans", std::move(spans)}}).dump() + "\n";
}

std::optional<SavedHistory> parse_history(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("spans") || !json["spans"].is_array()) {
    return std::nullopt;
  }
  SavedHistory history;
  for (const Json& span : json["spans"]) {
    std::optional<SavedRows> rows = rows_of(span);
    if (!rows) return std::nullopt;
    history.push_back(*std::move(rows));
  }
  return history;
}

}  // namespace perennial::http
