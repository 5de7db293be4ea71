#include "cmd/perenniald/http/api/fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "cmd/common/list.h"
#include "wire/command_line.h"

namespace perennial::http {
namespace {

constexpr std::array all_states = {JobState::Ready, JobState::Reserved, JobState::Delayed,
                                   JobState::Buried};

std::optional<JobState> state_named(std::string_view name) {
  for (const JobState state : all_states) {
    if (state_name(state) == name) return state;
  }
  return std::nullopt;
}

// Reads a document without keeping any of it, and stops where it is deeper or has more members than
// is allowed. The parser that makes a tree has a callback, too, but looks at all members of the
// parent at the end of each value; and the tree looks for each name among all names of its object.
// Both would make a small document cost seconds.
class ShapeCheck final : public nlohmann::json_sax<Json> {
 public:
  // `is_each`: the members of each object of an array are counted for themselves.
  explicit ShapeCheck(bool is_each) : counted_at_(is_each ? 2 : 1) {}

  bool is_too_deep() const { return depth_ > json_depth_max; }
  bool has_too_many() const { return members_ > json_members_max; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(size_t /*size*/) override { return open(); }
  bool start_array(size_t /*size*/) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& /*name*/) override {
    ++members_;
    return !has_too_many();
  }
  bool parse_error(size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  bool open() {
    if (++depth_ == counted_at_) members_ = 0;
    return !is_too_deep();
  }
  bool close() {
    --depth_;
    return true;
  }

  const int counted_at_;
  int depth_ = 0;
  int members_ = 0;
};

std::string_view media_type(const Request& request) {
  const std::string_view type = request.field("content-type");
  return type.substr(0, type.find(';'));
}

// None: `refusal` says why.
std::optional<Json> parse(std::string_view text, bool is_array, std::optional<Response>& refusal) {
  const auto refuse = [&](std::string_view why) {
    refusal = problem_response(Status::BadRequest, why);
    return std::nullopt;
  };
  ShapeCheck shape(is_array);
  const bool is_json = Json::sax_parse(text, &shape);
  if (shape.is_too_deep()) return refuse("The JSON is nested too deeply.");
  if (shape.has_too_many()) return refuse("The JSON has too many members.");
  if (!is_json) return refuse("The body must be one JSON object in UTF-8.");
  return Json::parse(text, nullptr, false);
}

std::optional<Json> read_json(const Request& request, bool is_array,
                              std::optional<Response>& refusal) {
  if (media_type(request) == "application/json") return parse(request.body, is_array, refusal);
  refusal =
      problem_response(Status::UnsupportedMediaType, "The body must be application/json here.");
  return std::nullopt;
}

// One for each line. Empty lines are none.
std::optional<Json> read_lines(const Request& request, std::optional<Response>& refusal) {
  Json all = Json::array();
  size_t number = 0;
  for (std::string_view rest = request.body; !rest.empty();) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    std::optional<Json> json = parse(line, false, refusal);
    if (!json) {
      refusal = problem_response(Status::BadRequest,
                                 fmt::format("Line {} is no JSON object in UTF-8.", number));
      return std::nullopt;
    }
    all.push_back(*std::move(json));
  }
  return all;
}

}  // namespace

bool is_lines(const Request& request) {
  return media_type(request) == "application/x-ndjson";
}

bool is_bytes(const Request& request) {
  return media_type(request) == "application/octet-stream";
}

bool is_array(const Request& request) {
  const std::string_view body = request.body;
  const size_t begin = body.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && body[begin] == '[';
}

common::SecretText take_token(common::SecretText& body) {
  constexpr std::string_view name = "\"token\"";
  constexpr std::string_view space = " \t\r\n";
  size_t at = body.find(name);
  if (at == std::string_view::npos) return {};
  at = body.find_first_not_of(space, at + name.size());
  if (at == std::string_view::npos || body[at] != ':') return {};
  at = body.find_first_not_of(space, at + 1);
  if (at == std::string_view::npos || body[at] != '"') return {};
  const size_t begin = at + 1;
  const size_t end = body.find_first_of("\"\\", begin);
  if (end == std::string_view::npos || body[end] != '"') return {};
  common::SecretText token = body.substr(begin, end - begin);
  std::fill_n(body.begin() + static_cast<ptrdiff_t>(begin), token.size(), 'x');
  return token;
}

Fields::Fields(const Request& request) {
  if (request.body.empty()) return;
  std::optional<Json> json = read_json(request, false, refusal_);
  if (!json) return;
  if (json->is_object()) {
    object_ = *std::move(json);
  } else {
    refuse("The body must be one JSON object in UTF-8.");
  }
}

std::vector<Fields> Fields::of_array(const Request& request, size_t most,
                                     std::optional<Response>& refusal) {
  std::vector<Fields> out;
  std::optional<Json> json =
      is_lines(request) ? read_lines(request, refusal) : read_json(request, true, refusal);
  if (!json) return out;
  const bool is_good =
      json->is_array() && !json->empty() && json->size() <= most &&
      std::ranges::all_of(*json, [](const Json& each) { return each.is_object(); });
  if (!is_good) {
    refusal = problem_response(Status::BadRequest,
                               fmt::format("There must be 1 to {} JSON objects.", most));
    return out;
  }
  for (Json& each : *json) {
    Fields fields;
    fields.object_ = std::move(each);
    out.push_back(std::move(fields));
  }
  return out;
}

Fields Fields::of_query(std::string_view query) {
  Fields fields;
  for (const std::string& name : query_names(query)) {
    Query parameters(query);
    // Which has spaces between its fields.
    const bool is_words = name == "cron";
    const std::string value =
        (is_words ? parameters.words(name) : parameters.text(name)).value_or("");
    const bool is_number =
        name == "priority" || name == "tries" || name == "count" || name.ends_with("_seconds");
    const Json number = is_number ? Json::parse(value, nullptr, false) : Json();
    fields.object_[name] = number.is_number() ? number : Json(value);
    if (!parameters.problem().empty()) fields.add_problem(parameters.problem());
  }
  return fields;
}

void Fields::refuse(std::string_view why) {
  refusal_ = problem_response(Status::BadRequest, why);
  object_ = Json::object();
}

const Json* Fields::find(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::add_problem(std::string_view text) {
  if (problem_.empty()) problem_ = text;
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  add_problem(fmt::format("{} must be a text.", name));
  return std::nullopt;
}

std::optional<uint64_t> Fields::number(const std::string& name, uint64_t max) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const bool is_good = value->is_number_unsigned() && value->get<uint64_t>() <= max;
  if (is_good) return value->get<uint64_t>();
  add_problem(fmt::format("{} must be a whole number from 0 to {}.", name, max));
  return std::nullopt;
}

std::optional<Nanos> Fields::seconds(const std::string& name, Nanos least) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  const double given = value->is_number() ? value->get<double>() : -1;
  if (given >= 0 && given <= duration_seconds_max) {
    if (given > 0 && given < in_seconds(least)) {
      add_problem(fmt::format("{} must be {} or more, or 0.", name, in_seconds(least)));
    }
    return static_cast<Nanos>(std::llround(given * 1000)) * nanos_per_ms;
  }
  add_problem(
      fmt::format("{} must be a number of seconds from 0 to {}.", name, duration_seconds_max));
  return std::nullopt;
}

std::optional<std::string> Fields::tube(const std::string& name) {
  std::optional<std::string> given = text(name);
  if (given && !wire::is_tube_name(*given)) {
    add_problem(
        fmt::format("{} is no name of a tube: 1 to 200 of A-Z a-z 0-9 - + / ; . $ _ ( ), "
                    "not beginning with -.",
                    name));
    return std::nullopt;
  }
  return given;
}

std::vector<JobId> Fields::ids(const std::string& name, size_t most) {
  const Json* const value = find(name);
  std::vector<JobId> out;
  bool is_good = value != nullptr && value->is_array() && !value->empty() && value->size() <= most;
  for (const Json& each : is_good ? *value : Json::array()) {
    const auto id =
        each.is_string() ? number_of(each.get<std::string>(), UINT64_MAX) : std::nullopt;
    is_good = is_good && id && *id > 0;
    out.push_back(id.value_or(0));
  }
  if (!is_good) add_problem(fmt::format("{} must be a list of 1 to {} ids of jobs.", name, most));
  return out;
}

std::optional<bool> Fields::yes_or_no(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  add_problem(fmt::format("{} must be true or false.", name));
  return std::nullopt;
}

std::optional<StateSet> Fields::states(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  StateSet states;
  bool is_good = value->is_array() && !value->empty();
  for (const Json& each : is_good ? *value : Json::array()) {
    const auto state = each.is_string() ? state_named(each.get<std::string>()) : std::nullopt;
    is_good = is_good && state.has_value();
    if (state) states.add(*state);
  }
  if (is_good) return states;
  add_problem(fmt::format("{} must be a list of ready, reserved, delayed, buried.", name));
  return std::nullopt;
}

std::optional<EndSet> Fields::ends(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  EndSet ends;
  bool is_good = value->is_array() && !value->empty();
  for (const Json& each : is_good ? *value : Json::array()) {
    const auto* const row = std::ranges::find_if(job_end_rows, [&](const JobEndRow& known) {
      return each.is_string() && each.get<std::string>() == known.name;
    });
    is_good = is_good && row != job_end_rows.end();
    if (row != job_end_rows.end()) ends.add(row->how);
  }
  if (is_good) return ends;
  add_problem(fmt::format("{} must be a list of deleted, flushed, expired.", name));
  return std::nullopt;
}

std::optional<Fields> Fields::object_named(const std::string& name) {
  const Json* const value = find(name);
  if (value == nullptr) return std::nullopt;
  Fields inner;
  if (value->is_object()) {
    inner.object_ = *value;
  } else {
    add_problem(fmt::format("{} must be an object.", name));
  }
  return inner;
}

void Fields::take_problem(Fields& inner) {
  inner.look_for_unknown();
  if (!inner.problem_.empty()) add_problem(inner.problem_);
}

void Fields::look_for_unknown() {
  for (const auto& [name, value] : object_.items()) {
    if (!known_.contains(name)) {
      add_problem(fmt::format("There is no member '{}' here.", name.substr(0, 50)));
    }
  }
}

const std::string& Fields::problem_text() {
  look_for_unknown();
  return problem_;
}

std::optional<Response> Fields::problem() {
  if (refusal_) return refusal_;
  if (problem_text().empty()) return std::nullopt;
  return problem_response(Status::BadRequest, problem_);
}

std::optional<std::string> Query::text(std::string_view name) {
  return decoded(name, query_values(query_, name));
}

std::optional<std::string> Query::words(std::string_view name) {
  std::vector<std::string> values = query_values(query_, name);
  for (std::string& value : values) std::ranges::replace(value, '+', ' ');
  return decoded(name, values);
}

std::optional<std::string> Query::decoded(std::string_view name,
                                          const std::vector<std::string>& values) {
  if (values.empty()) return std::nullopt;
  std::optional<std::string> value = percent_decoded(values.front());
  if (!value || values.size() > 1) problem_ = fmt::format("{} is not well-formed.", name);
  return value;
}

uint64_t Query::number(std::string_view name, uint64_t otherwise, uint64_t min, uint64_t max) {
  const std::optional<std::string> given = text(name);
  if (!given) return otherwise;
  const std::optional<uint64_t> value = number_of(*given, max);
  if (value && *value >= min) return *value;
  problem_ = fmt::format("{} must be a whole number from {} to {}.", name, min, max);
  return otherwise;
}

std::optional<uint64_t> number_of(std::string_view text, uint64_t max) {
  uint64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_whole && value <= max ? std::optional(value) : std::nullopt;
}

std::optional<StateSet> states_of(std::string_view text) {
  StateSet states;
  for (const std::string_view name : common::list_items(text)) {
    const std::optional<JobState> state = state_named(name);
    if (!state) return std::nullopt;
    states.add(*state);
  }
  return states.empty() ? std::nullopt : std::optional(states);
}

std::optional<EndSet> ends_of(std::string_view text) {
  EndSet ends;
  for (const std::string_view name : common::list_items(text)) {
    const auto* const row = std::ranges::find(job_end_rows, name, &JobEndRow::name);
    if (row == job_end_rows.end()) return std::nullopt;
    ends.add(row->how);
  }
  return ends == EndSet() ? std::nullopt : std::optional(ends);
}

std::vector<std::string> names_of(StateSet states) {
  std::vector<std::string> names;
  for (const JobState state : all_states) {
    if (states.holds(state)) names.emplace_back(state_name(state));
  }
  return names;
}

std::vector<std::string> names_of(EndSet ends) {
  std::vector<std::string> names;
  for (const JobEndRow& row : job_end_rows) {
    if (ends.holds(row.how)) names.emplace_back(row.name);
  }
  return names;
}

}  // namespace perennial::http
