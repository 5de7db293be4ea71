#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/message.h"
#include "engine/types/check.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

using ::perennial::http::MessageLimits;
using ::perennial::http::Request;
using ::perennial::http::RequestParser;
using Pieces = std::vector<std::string_view>;

constexpr MessageLimits all_limits[] = {
    {},
    {.header_bytes_max = 64, .fields_max = 3, .body_bytes_max = 8},
};
constexpr std::string_view letters_of_tokens =
    "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

struct Outcome {
  std::vector<Request> requests;
  std::optional<::perennial::http::Status> refused;
};

// Bodies are read as the API reads them, whatever they are said to be.
void read_as_json(Request request) {
  request.fields["content-type"] = "application/json";
  ::perennial::http::Fields fields(request);
  (void)fields.text("token");
  (void)fields.states("states");
  fields.object("match", [](::perennial::http::Fields& match) { (void)match.number("age", 7); });
  (void)fields.problem();
  ::perennial::http::Query query(request.query);
  (void)query.text("match");
}

Outcome parse_requests(const Pieces& pieces, const MessageLimits& limits) {
  Outcome out;
  RequestParser parser(limits);
  for (const std::string_view piece : pieces) {
    parser.add(piece);
    while (std::optional<Request> request = parser.next()) {
      CHECK(request->body.size() <= limits.body_bytes_max);
      CHECK(request->fields.size() <= limits.fields_max);
      read_as_json(*request);
      out.requests.push_back(std::move(*request));
    }
    // Bodies are taken over as they come, so that only a header waits.
    CHECK(parser.held_bytes() <= limits.header_bytes_max);
  }
  out.refused = parser.refused();
  if (out.refused) CHECK(parser.held_bytes() == 0);
  return out;
}

bool is_same(const Request& a, const Request& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.fields == b.fields &&
         a.body == b.body && a.keep_alive == b.keep_alive;
}

void check_same_requests(const Outcome& a, const Outcome& b) {
  CHECK(a.refused == b.refused);
  CHECK(std::ranges::equal(a.requests, b.requests, is_same));
}

// Takes the text before `mark`, and the mark, from the front. REQUIRES: the mark is there.
std::string_view take_until(std::string_view& text, std::string_view mark) {
  const size_t end = text.find(mark);
  CHECK(end != std::string_view::npos);
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end + mark.size());
  return out;
}

bool is_token(std::string_view text) {
  return !text.empty() && text.find_first_not_of(letters_of_tokens) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

bool is_value(std::string_view text) {
  return std::ranges::all_of(text,
                             [](unsigned char c) { return (c >= ' ' && c != 0x7f) || c == '\t'; });
}

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

// "/path", or "http://host/path", whose path may be left out.
std::pair<std::string, std::string> authority_and_path(std::string_view target) {
  if (target.starts_with('/')) return {"", std::string(target)};
  const std::string scheme = in_small_letters(take_until(target, "://"));
  CHECK(scheme == "http" || scheme == "https");
  const size_t end = std::min(target.find('/'), target.size());
  const std::string authority(target.substr(0, end));
  CHECK(!authority.empty());
  CHECK(authority.find_first_of("?@") == authority.npos);
  return {authority, end == target.size() ? "/" : std::string(target.substr(end))};
}

// Reads an accepted request again from the front of the bytes, as the strictest reader does, and
// compares the two. What a lenient one could read in another way is a failure.
void check_read_strictly(std::string_view& bytes, const Request& request) {
  while (bytes.starts_with("\r\n")) bytes.remove_prefix(2);
  std::string_view header = bytes.substr(0, bytes.find("\r\n\r\n") + 2);
  take_until(bytes, "\r\n\r\n");
  std::string_view line = take_until(header, "\r\n");
  const std::string_view method = take_until(line, " ");
  const std::string_view target = take_until(line, " ");
  CHECK(is_token(method));
  CHECK(method == request.method);
  const auto [authority, path] = authority_and_path(target);
  CHECK(std::ranges::all_of(target, [](unsigned char c) { return c > ' ' && c != 0x7f; }));
  CHECK(path == request.path + (path.find('?') == path.npos ? "" : "?" + request.query));
  CHECK(line == "HTTP/1.1" || line == "HTTP/1.0");
  size_t hosts = 0;
  size_t lengths = 0;
  size_t body_bytes = 0;
  decltype(Request::fields) fields;
  while (!header.empty()) {
    std::string_view field = take_until(header, "\r\n");
    const std::string_view name = take_until(field, ":");
    const std::string_view value = trimmed(field);
    CHECK(is_token(name));
    CHECK(is_value(value));
    const std::string key = in_small_letters(name);
    auto& joined = fields[key];
    if (!joined.empty()) joined += ", ";
    joined += value;
    CHECK(key != "transfer-encoding");
    if (key == "host") ++hosts;
    if (key != "content-length") continue;
    ++lengths;
    CHECK(!value.empty());
    for (const char c : value) {
      CHECK(c >= '0' && c <= '9');
      body_bytes = body_bytes * 10 + static_cast<size_t>(c - '0');
    }
  }
  CHECK(hosts == 1 || (hosts == 0 && line == "HTTP/1.0"));
  CHECK(lengths <= 1);
  CHECK(authority.empty() || in_small_letters(authority) == in_small_letters(fields["host"]));
  CHECK(fields == request.fields);
  CHECK(bytes.substr(0, body_bytes) == request.body);
  bytes.remove_prefix(request.body.size());
}

// A proxy that sends the request on in its own words means the same request.
void check_passed_on(const Request& request, const MessageLimits& limits) {
  std::string bytes = request.method + " " + request.path;
  if (!request.query.empty()) bytes += "?" + request.query;
  bytes += request.fields.contains("host") ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n";
  for (const auto& [name, value] : request.fields)
    bytes.append(name + ":").append(value).append("\r\n");
  const Outcome again = parse_requests({bytes, "\r\n", request.body}, limits);
  CHECK(!again.refused);
  CHECK(again.requests.size() == 1);
  Request got = again.requests.front();
  got.keep_alive = request.keep_alive;  // The version also decides on it.
  Request want = request;
  for (auto& [name, value] : want.fields)
    value = common::SecretText(trimmed(value));  // The last of several was empty.
  CHECK(is_same(got, want));
}

}  // namespace

// The input begins with the limits and the way to split it: a count, and that many lengths.
void http(std::string_view input) {
  Choices choices(input);
  const MessageLimits& limits = all_limits[choices.below(std::size(all_limits))];
  std::vector<size_t> lengths(choices.below(16));
  for (size_t& length : lengths) length = choices.number(2);
  Pieces pieces;
  for (const size_t length : lengths) pieces.push_back(choices.piece(length));
  pieces.push_back(choices.rest());
  std::string whole;
  for (const std::string_view piece : pieces) whole += piece;
  Pieces bytes;
  for (size_t i = 0; i < whole.size(); ++i) bytes.push_back(std::string_view(whole).substr(i, 1));

  const Outcome want = parse_requests({whole}, limits);
  check_same_requests(parse_requests(pieces, limits), want);
  check_same_requests(parse_requests(bytes, limits), want);
  std::string_view rest = whole;
  for (const Request& request : want.requests) {
    check_read_strictly(rest, request);
    check_passed_on(request, limits);
    for (const std::string_view name : {"verbose", "exclude"}) {
      for (const std::string& value : ::perennial::http::query_values(request.query, name)) {
        CHECK(value.find('&') == std::string::npos);
      }
    }
  }
}

}  // namespace perennial::fuzz
