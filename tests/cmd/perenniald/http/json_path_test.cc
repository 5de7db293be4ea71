#include "cmd/perenniald/http/json_path.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::http {
namespace {

std::string repeated(const std::string& text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

bool has(std::string_view document, std::string_view path, std::string_view value) {
  const std::optional<JsonPath> parsed = JsonPath::parse(path);
  EXPECT_TRUE(parsed) << path;
  return parsed && has_value(document, *parsed, scalar_of(value));
}

TEST(JsonPath, HasMembersAndElements) {
  struct Case {
    std::string text;
    int steps;  // -1: it is no path.
  };
  const Case cases[] = {
      {"$", 0},
      {"$.a", 1},
      {"$.customer.id", 2},
      {"$.items[0].sku", 3},
      {"$[*][7]", 2},
      {"$['a.b[0]'].c", 2},
      {"$[\"it's\"]", 1},
      {"$['']", 1},
      {"$.a b", 1},
      {"$.ä", 1},
      {"$" + repeated("[0]", 64), 64},
      {"$" + repeated("[0]", 65), -1},
      {"", -1},
      {"a", -1},
      {".a", -1},
      {"$a", -1},
      {"$.", -1},
      {"$..a", -1},
      {"$.a.", -1},
      {"$[", -1},
      {"$[]", -1},
      {"$[0", -1},
      {"$[-1]", -1},
      {"$[+1]", -1},
      {"$[0 ]", -1},
      {"$[1:2]", -1},
      {"$[99999999999999999999]", -1},
      {"$['a]", -1},
      {"$['a'b]", -1},
      {"$['a", -1},
      {"$['", -1},
      {"$[a]", -1},
      {"$[0]a", -1},
      {"$ .a", -1},
  };
  for (const Case& c : cases) {
    const std::optional<JsonPath> path = JsonPath::parse(c.text);
    EXPECT_EQ(path ? static_cast<int>(path->steps().size()) : -1, c.steps) << c.text;
  }
}

TEST(JsonPath, LeadsToValues) {
  struct Case {
    const char* document;
    const char* path;
    const char* value;
    bool want;
  };
  const Case cases[] = {
      {R"({"customer": {"id": 42}})", "$.customer.id", "42", true},
      {R"({"customer": {"id": 43}})", "$.customer.id", "42", false},
      {R"({"customer": {"id": "42"}})", "$.customer.id", "42", false},
      {R"({"customer": {"id": "42"}})", "$.customer.id", "\"42\"", true},
      {R"({"a": {"customer": {"id": 42}}})", "$.customer.id", "42", false},
      {R"({"customer": {"a": {"id": 42}}})", "$.customer.id", "42", false},
      {R"({"customer": {"a": {}, "id": 42}})", "$.customer.id", "42", true},
      {R"({"customer": {"id": {"id": 42}}})", "$.customer.id", "42", false},
      {R"({"customer": [{"id": 42}]})", "$.customer.id", "42", false},
      {R"({"a": {"id": 1}, "customer": {"id": 42}, "b": {"id": 2}})", "$.customer.id", "42", true},
      {R"({"a": 1, "a": 2})", "$.a", "1", true},
      {R"({"a": 1, "a": 2})", "$.a", "2", true},
      {R"(42)", "$", "42", true},
      {R"([42])", "$", "42", false},
      {R"([1, [2], 3])", "$[2]", "3", true},
      {R"([1, [2], 3])", "$[1]", "2", false},
      {R"([1, [2], 3])", "$[1][0]", "2", true},
      {R"([1, {}, 3])", "$[3]", "3", false},
      {R"({"0": 1})", "$[0]", "1", false},
      {R"([1])", "$.0", "1", false},
      {R"({"items": [{"sku": "a"}, {"sku": "b"}]})", "$.items[*].sku", "b", true},
      {R"({"items": [{"sku": "a"}, {"sku": "b"}]})", "$.items[0].sku", "b", false},
      {R"({"items": [[{"sku": "b"}]]})", "$.items[*].sku", "b", false},
      {R"({"a b.c": {"": true}})", "$['a b.c']['']", "true", true},
      {R"({"a": "caf\u00e9"})", "$.a", "café", true},
      {R"({"\u0061": 1})", "$.a", "1", true},
      {R"({"a": null})", "$.a", "null", true},
      {R"({"a": "null"})", "$.a", "null", false},
      {R"({})", "$.a", "null", false},
      {R"({"a": ""})", "$.a", "", true},
      {R"({"a": {}})", "$.a", "{}", false},
      {R"({"a": "{}"})", "$.a", "{}", true},
      {R"({"a": "[x] y"})", "$.a", "[x] y", true},
      {R"({"a": "x { y"})", "$.a", "\"x { y\"", true},
      {R"({"a": true})", "$.a", "1", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(has(c.document, c.path, c.value), c.want) << c.document << " " << c.path;
  }
}

TEST(JsonPath, ComparesNumbersByTheirValue) {
  struct Case {
    const char* number;
    const char* value;
    bool want;
  };
  const Case cases[] = {
      {"42.0", "42", true},
      {"42", "4.2e1", true},
      {"-0.5", "-0.50", true},
      {"-1", "-1", true},
      {"-1", "18446744073709551615", false},
      {"18446744073709551615", "-1", false},
      {"9007199254740993", "9007199254740993", true},
      {"9007199254740993", "9007199254740992", false},
      {"18446744073709551615", "18446744073709551615", true},
      {"18446744073709551615", "18446744073709551614", false},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(has(c.number, "$", c.value), c.want) << c.number << " " << c.value;
  }
}

TEST(JsonPath, LeadsNowhereInWhatIsNoJson) {
  for (const std::string& document :
       {std::string(), std::string("a"), std::string("{\"a\": 1"), std::string("{\"a\": 1} x"),
        std::string("{\"a\": 1}{\"a\": 1}"), std::string("{a: 1}"), std::string("{\"a\": 01}"),
        std::string("// c\n{\"a\": 1}"), std::string("{\"a\": 1, \"b\": \"\xff\"}"),
        std::string("{\"a\": 1, \"b\": 1e999}"), std::string("{\"a\": 1}\0", 9)}) {
    EXPECT_FALSE(has(document, "$.a", "1")) << document;
  }
  EXPECT_TRUE(has("\r\n {\"a\": 1} \n", "$.a", "1"));
}

// T32.
TEST(JsonPath, EndsAtTheDeepestLevel) {
  const auto nested = [](size_t levels) {
    return repeated("[", levels) + "1" + repeated("]", levels);
  };
  EXPECT_TRUE(has(nested(json_levels_max), "$" + repeated("[0]", json_levels_max), "1"));
  const std::string within = R"({"a": 1, "b": )" + nested(json_levels_max - 1) + "}";
  EXPECT_TRUE(has(within, "$.a", "1"));
  EXPECT_FALSE(has(R"({"a": 1, "b": )" + nested(json_levels_max) + "}", "$.a", "1"));
  EXPECT_FALSE(has(repeated("[", 10'000'000), "$.a", "1"));
}

TEST(JsonPath, EndsAtTheLongestDocument) {
  std::string document = R"({"a": 1})";
  document.resize(json_bytes_max, ' ');
  EXPECT_TRUE(has(document, "$.a", "1"));
  document += ' ';
  EXPECT_FALSE(has(document, "$.a", "1"));
}

}  // namespace
}  // namespace perennial::http
