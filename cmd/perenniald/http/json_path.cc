#include "cmd/perenniald/http/json_path.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace perennial::http {
namespace {

// Takes the step at the beginning of `rest`. None: there is none.
std::optional<JsonPath::Step> take_member(std::string_view& rest) {
  rest.remove_prefix(1);  // The dot.
  const size_t end = std::min(rest.find_first_of(".["), rest.size());
  if (end == 0) return std::nullopt;
  std::string name(rest.substr(0, end));
  rest.remove_prefix(end);
  return name;
}

std::optional<JsonPath::Step> take_quoted(std::string_view& rest) {
  const char quote = rest[1];
  const size_t end = rest.find(quote, 2);
  if (end == std::string_view::npos || !rest.substr(end + 1).starts_with(']')) return std::nullopt;
  std::string name(rest.substr(2, end - 2));
  rest.remove_prefix(end + 2);
  return name;
}

std::optional<JsonPath::Step> take_element(std::string_view& rest) {
  if (rest.starts_with("['") || rest.starts_with("[\"")) return take_quoted(rest);
  const size_t end = rest.find(']');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = rest.substr(1, end - 1);
  rest.remove_prefix(end + 1);
  if (inside == "*") return JsonPath::AnyElement{};
  size_t index = 0;
  const auto read = std::from_chars(inside.data(), inside.data() + inside.size(), index);
  const bool is_index = read.ec == std::errc() && read.ptr == inside.data() + inside.size();
  return is_index ? std::optional<JsonPath::Step>(index) : std::nullopt;
}

bool is_negative(const nlohmann::json& value) {
  return value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() < 0;
}

// nlohmann::json compares a negative number and a large one by the same 64 bits.
bool is_equal(const nlohmann::json& a, const nlohmann::json& b) {
  return is_negative(a) == is_negative(b) ? a == b : a.is_number_float() && a == b;
}

// What the parser calls with each part of a document. It keeps a frame for each object and array
// that is open.
class ValueFinder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  ValueFinder(const JsonPath& path, const nlohmann::json& value)
      : steps_(path.steps()), value_(value) {}

  bool found() const { return found_; }

  bool null() override { return on_scalar(nullptr); }
  bool boolean(bool value) override { return on_scalar(value); }
  bool number_integer(number_integer_t value) override { return on_scalar(value); }
  bool number_unsigned(number_unsigned_t value) override { return on_scalar(value); }
  bool number_float(number_float_t value, const string_t& /*text*/) override {
    return on_scalar(value);
  }
  bool string(string_t& value) override {
    if (is_at_end(is_on_path()) && value_.is_string()) {
      found_ = found_ || value_.get_ref<const string_t&>() == value;
    }
    return true;
  }
  bool binary(binary_t& /*value*/) override { return false; }  // Of other formats than JSON.
  bool start_object(size_t /*size*/) override { return open(false); }
  bool start_array(size_t /*size*/) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    Frame& object = frames_.back();
    object.member_is_on_path = object.is_on_path && frames_.size() <= steps_.size() &&
                               std::holds_alternative<std::string>(step()) &&
                               std::get<std::string>(step()) == name;
    return true;
  }
  bool parse_error(size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  struct Frame {
    bool is_array = false;
    bool is_on_path = false;         // The path leads here, or through here.
    bool member_is_on_path = false;  // Of an object: so does its member that is being read.
    size_t next = 0;                 // Of an array: the index of its next element.
  };

  // REQUIRES: frames_.size() <= steps_.size(). That from the innermost frame to what is in it.
  const JsonPath::Step& step() const { return steps_[frames_.size() - 1]; }

  // Whether the path leads to, or through, the value that begins. Called once for each value.
  bool is_on_path() {
    if (frames_.empty()) return true;
    Frame& frame = frames_.back();
    if (!frame.is_array) return frame.member_is_on_path;
    const size_t index = frame.next++;
    if (!frame.is_on_path || frames_.size() > steps_.size()) return false;
    if (std::holds_alternative<JsonPath::AnyElement>(step())) return true;
    return std::holds_alternative<size_t>(step()) && std::get<size_t>(step()) == index;
  }
  bool is_at_end(bool is_on_path) const { return is_on_path && frames_.size() == steps_.size(); }

  bool on_scalar(const nlohmann::json& value) {
    if (is_at_end(is_on_path())) found_ = found_ || is_equal(value, value_);
    return true;
  }
  bool open(bool is_array) {
    const bool on_path = is_on_path();
    if (frames_.size() == json_levels_max) return false;
    frames_.push_back({.is_array = is_array, .is_on_path = on_path});
    return true;
  }
  bool close() {
    frames_.pop_back();
    return true;
  }

  const std::vector<JsonPath::Step>& steps_;
  const nlohmann::json& value_;
  std::vector<Frame> frames_;
  bool found_ = false;
};

}  // namespace

std::optional<JsonPath> JsonPath::parse(std::string_view text) {
  if (!text.starts_with('$')) return std::nullopt;
  JsonPath path;
  for (std::string_view rest = text.substr(1); !rest.empty();) {
    std::optional<Step> step;
    if (rest.starts_with('.')) step = take_member(rest);
    if (!step && rest.starts_with('[')) step = take_element(rest);
    if (!step || path.steps_.size() == json_levels_max) return std::nullopt;
    path.steps_.push_back(*std::move(step));
  }
  return path;
}

nlohmann::json scalar_of(std::string_view text) {
  // A text that begins an object or an array is none of the values that are compared.
  const bool is_scalar = text.find_first_of("{[") == std::string_view::npos || text.front() == '"';
  nlohmann::json value = is_scalar ? nlohmann::json::parse(text, nullptr, false)
                                   : nlohmann::json(nlohmann::json::value_t::discarded);
  return value.is_discarded() ? nlohmann::json(text) : value;
}

bool has_value(std::string_view document, const JsonPath& path, const nlohmann::json& value) {
  // The parser takes a NUL for the end of the document.
  const bool is_text = document.find('\0') == std::string_view::npos;
  if (!is_text || document.size() > json_bytes_max) return false;
  ValueFinder finder(path, value);
  return nlohmann::json::sax_parse(document.begin(), document.end(), &finder) && finder.found();
}

}  // namespace perennial::http
