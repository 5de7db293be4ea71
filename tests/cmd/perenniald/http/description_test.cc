#include "cmd/perenniald/http/api/description.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/http/api/options.h"
#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Port holds the status of each answer against the description, and tests/http/api_test.py the
// content of answers and examples.
class Description : public Port {
 protected:
  const json document_ = get_from("/api/v1/openapi.json").json();

  static std::string method_of(const Api::Route& route) {
    std::string method(route.method);
    std::ranges::transform(method, method.begin(), [](unsigned char c) { return std::tolower(c); });
    return method;
  }
  const json& operation(const Api::Route& route) {
    return document_["paths"].at(std::string(route.path)).at(method_of(route));
  }
  const json& schema(const std::string& name) {
    return document_["components"]["schemas"].at(name);
  }
  // Fails unless a schema has the members of an object, and besides these that may be missing.
  void expect_members(const std::string& name, const json& object,
                      const std::set<std::string>& optional = {}) {
    std::set<std::string> members;
    for (const auto& [key, value] : object.items()) members.insert(key);
    std::set<std::string> required;
    for (const json& key : schema(name)["required"]) required.insert(key);
    EXPECT_EQ(required, members) << name;
    members.insert(optional.begin(), optional.end());
    std::set<std::string> properties;
    for (const auto& [key, value] : schema(name)["properties"].items()) properties.insert(key);
    EXPECT_EQ(properties, members) << name;
    EXPECT_EQ(schema(name)["additionalProperties"], false) << name;
  }
};

TEST_F(Description, HasEachRowAndNothingElse) {
  EXPECT_EQ(document_["openapi"], "3.1.0");
  std::set<std::string> described;
  for (const auto& [path, operations] : document_["paths"].items()) {
    for (const auto& [method, value] : operations.items()) described.insert(method + " " + path);
  }
  std::set<std::string> rows;
  for (const Api::Route& route : Api::routes()) {
    rows.insert(fmt::format("{} {}", method_of(route), route.path));
  }
  EXPECT_EQ(described, rows);
}

TEST_F(Description, NamesEachOperationAndWhatItNeeds) {
  std::set<std::string> tags;
  for (const json& tag : document_["tags"]) tags.insert(tag["name"]);
  std::set<std::string> ids;
  for (const Api::Route& route : Api::routes()) {
    const json& described = operation(route);
    const std::string id = described.at("operationId");
    EXPECT_TRUE(ids.insert(id).second) << id;
    ASSERT_EQ(described.at("tags").size(), 1U) << id;
    EXPECT_TRUE(tags.contains(described["tags"][0])) << id;
    EXPECT_EQ(described["x-needs"], text_of(route.needs)) << id;
    EXPECT_EQ(described.contains("security"), route.is_open) << id;
    if (route.needs.verb()) {
      EXPECT_THAT(described.at("summary").get<std::string>(),
                  HasSubstr("Needs " + text_of(route.needs)))
          << id;
    }
  }
}

TEST_F(Description, HasAnExampleOfEachRequestAndAnswer) {
  for (const Api::Route& route : Api::routes()) {
    const json& described = operation(route);
    if (described.contains("requestBody")) {
      EXPECT_TRUE(described["requestBody"]["content"]["application/json"].contains("example"))
          << route.path;
    }
    for (const auto& [status, response] : described["responses"].items()) {
      if (status[0] != '2' || status == "204") continue;
      for (const auto& [type, content] : response["content"].items()) {
        EXPECT_TRUE(content.contains("example")) << route.path;
      }
    }
  }
}

TEST_F(Description, ListsTheRefusalsOfEachRow) {
  for (const Api::Route& route : Api::routes()) {
    const json& responses = operation(route)["responses"];
    const bool is_change = route.method != "GET";
    EXPECT_TRUE(responses.contains("default")) << route.path;
    EXPECT_TRUE(responses.contains("429")) << route.path;
    EXPECT_TRUE(route.is_open || responses.contains("401")) << route.path;
    EXPECT_EQ(responses.contains("403"), is_change || !route.needs.is_nothing()) << route.path;
    EXPECT_EQ(responses.contains("503"), !route.is_early) << route.path;
    const bool has_body = operation(route).contains("requestBody");
    EXPECT_EQ(responses.contains("413"), has_body) << route.path;
    EXPECT_EQ(responses.contains("415"), has_body) << route.path;
  }
}

TEST_F(Description, ListsTheMembersOfWhatIsShown) {
  json job = job_json({});
  job["may"] = nullptr;
  expect_members("Job", job, {"held_by", "leased_by", "note"});
  expect_members("Tube", tube_json({}), {"settings", "may", "gone_seconds"});
  expect_members("TubeSettings", settings_json({}));
  const TubeSettings every = {.tries = 1,
                              .backoff = Backoff{},
                              .dead = "",
                              .expire = 1,
                              .reserved = 1,
                              .rate = Rate{},
                              .drain = true,
                              .keep = 1,
                              .keep_max = 1};
  std::set<std::string> names;
  const json members = settings_with_value(every);
  for (const auto& [name, value] : members.items()) names.insert(name);
  expect_members("TubeSettingsSet", json::object(), names);
  expect_members("SettingsOfTube", get_from("/api/v1/tubes/mail/settings").json());
  expect_members("Counts", counts_json({}));
  json server = get_from("/api/v1/server").json();
  server.erase("may");
  server.erase("user");
  expect_members("Server", server, {"may", "user"});
  speak("use mail\r\nput 0 0 60 1\r\na\r\n");
  expect_members("Operation",
                 change("POST", "/api/v1/operations",
                        R"({"action":"delete","tube":"mail","states":["ready"],"confirmed":1})")
                     .json());
  harness_.open();
  expect_members("Connection", get_from("/api/v1/connections").json()["connections"].at(0));
}

TEST_F(Description, SaysWhatTheOldestReadyJobIsAsItIsCounted) {
  for (const char* const name : {"Tube", "Server"}) {
    const json& row = schema(name)["properties"]["oldest_ready_seconds"];
    EXPECT_THAT(row["description"].get<std::string>(),
                testing::EndsWith(std::string(oldest_ready_meaning)))
        << name;
  }
}

}  // namespace
}  // namespace perennial::http
