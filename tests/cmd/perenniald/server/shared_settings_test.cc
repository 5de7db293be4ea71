#include "cmd/perenniald/server/shared_settings.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/server/access_control.h"
#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Config read(const std::string& yaml) {
  Config config = default_config();
  EXPECT_THAT(read_config(config, yaml, "f"), IsEmpty());
  return config;
}

std::map<std::string, std::string> settings_of(const std::string& yaml) {
  const Config config = read(yaml);
  Problems problems;
  const std::shared_ptr<const access::Users> users = load_users(config, problems);
  EXPECT_THAT(problems, IsEmpty());
  return shared_settings(config, users.get());
}

// The names of those that differ.
std::vector<std::string> differing(const std::string& one, const std::string& other) {
  std::vector<std::string> names;
  const std::map<std::string, std::string> others = settings_of(other);
  for (const auto& [name, text] : settings_of(one)) {
    if (others.at(name) != text) names.push_back(name);
  }
  return names;
}

constexpr const char* ann = "{name: ann, uids: [1], grants: [{tubes: [a], verbs: [consume]}]}";
constexpr const char* bob = "{name: bob, uids: [2], grants: [{verbs: [admin]}]}";

TEST(SharedSettings, AreThoseThatClientsMeet) {
  EXPECT_THAT(differing("", ""), IsEmpty());
  EXPECT_THAT(differing("", "data_dir: /elsewhere\nport: 1\nverbosity: 1\nlog_bytes_max: 128MiB"),
              IsEmpty());
  EXPECT_THAT(differing("", "job_bytes_max: 1KiB\nmemory_bytes_max: 1GiB\nextensions: none"),
              ElementsAre("extensions", "job_bytes_max", "memory_bytes_max"));
}

TEST(SharedSettings, HaveTheUsersInWhicheverOrder) {
  const std::string both = std::string("users: [") + ann + ", " + bob + "]";
  const std::string turned = std::string("users: [") + bob + ", " + ann + "]";
  EXPECT_THAT(differing(both, turned), IsEmpty());
  EXPECT_THAT(differing(both, std::string("users: [") + ann + "]"), ElementsAre("users"));
  EXPECT_THAT(differing(both, ""), ElementsAre("users"));
}

// Each node has addresses of its own.
TEST(SharedSettings, HaveHowClientsOfOtherMachinesComeIn) {
  EXPECT_THAT(differing("listen: 10.0.0.1", "listen: 10.0.0.2:11301"), IsEmpty());
  EXPECT_THAT(differing("listen: 10.0.0.1", "listen: 127.0.0.1"), ElementsAre("listeners"));
  const std::string with_tls = "listeners: [{address: '10.0.0.1', tls: {certificate: a, key: b}}]";
  EXPECT_THAT(differing("listen: 10.0.0.1", with_tls), ElementsAre("listeners"));
  EXPECT_THAT(
      differing(with_tls, "listeners: [{address: '10.0.0.2', tls: {certificate: c, key: d}}]"),
      IsEmpty());
  EXPECT_THAT(differing("listen: 10.0.0.1\nhttp_listen: 127.0.0.1", "listen: 10.0.0.1"), IsEmpty());
}

}  // namespace
}  // namespace perennial::perenniald
