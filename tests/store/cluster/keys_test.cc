#include "store/cluster/keys.h"

#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "store/cluster/records.h"
#include "store/types/cluster_name.h"

namespace perennial::store::cluster {
namespace {

TEST(Keys, Names) {
  const Keys keys("jobs");
  EXPECT_EQ(keys.id(), "/perennial/jobs/id");
  EXPECT_EQ(keys.node("a"), "/perennial/jobs/nodes/a");
  EXPECT_EQ(keys.copy("a"), "/perennial/jobs/copies/a");
  EXPECT_EQ(keys.entry(1), "/perennial/jobs/log/0000000000000001");
  EXPECT_EQ(keys.entry(~BatchIndex{0}), "/perennial/jobs/log/ffffffffffffffff");
  EXPECT_EQ(keys.entries_from(10).key, "/perennial/jobs/log/000000000000000a");
  EXPECT_EQ(keys.entries_from(10).end, "/perennial/jobs/log0");
  EXPECT_EQ(keys.entries_before(10).end, "/perennial/jobs/log/000000000000000a");
}

TEST(Keys, EntriesSortLikeTheirIndices) {
  const Keys keys("jobs");
  EXPECT_LT(keys.entry(9), keys.entry(10));
  EXPECT_LT(keys.entry(255), keys.entry(256));
}

TEST(Keys, TheNewestEntryFollowsFromTheFirstAndTheCount) {
  const Keys keys("jobs");
  EXPECT_EQ(keys.log_span().limit, 1);
  EXPECT_EQ(keys.last_of({}), 0U);
  const etcd::KeyValue first = {.key = keys.entry(7), .value = {}};
  EXPECT_EQ(keys.last_of({.keys = {first}, .count = 1}), 7U);
  EXPECT_EQ(keys.last_of({.keys = {first}, .count = 5}), 11U);
}

TEST(Keys, IndexOfAKey) {
  const Keys keys("jobs");
  EXPECT_EQ(keys.index_of(keys.entry(0xabc)), std::optional<BatchIndex>(0xabc));
  for (const char* bad :
       {"/perennial/jobs/log/", "/perennial/jobs/log/1", "/perennial/jobs/id",
        "/perennial/jobs/log/000000000000000g", "/perennial/jobs/log/00000000000000001",
        "/perennial/jobt/log/0000000000000001"}) {
    EXPECT_EQ(keys.index_of(bad), std::nullopt) << bad;
  }
}

TEST(Records, Handover) {
  const HandoverRecord record = {.epoch = 7, .to = "b"};
  EXPECT_EQ(decode_handover(encode(record)), std::optional(record));
  EXPECT_EQ(decode_handover(R"({"epoch":7,"to":"","more":1})"),
            std::optional(HandoverRecord{.epoch = 7, .to = ""}));
  for (const char* bad :
       {"", "7", "{}", R"({"epoch":7})", R"({"epoch":-7,"to":""})", R"({"epoch":7,"to":1})"}) {
    EXPECT_EQ(decode_handover(bad), std::nullopt) << bad;
  }
}

TEST(Records, Pause) {
  const PauseRecord record = {.node = "a", .directory = "5f"};
  EXPECT_EQ(decode_pause(encode(record)), std::optional(record));
  for (const char* bad : {"", "7", "{}", R"({"node":"c"})"}) {
    EXPECT_EQ(decode_pause(bad), std::nullopt) << bad;
  }
}

TEST(Records, Copy) {
  const CopyRecord record = {.node = "c",
                             .from = "a",
                             .client_address = "10.0.0.3:11300",
                             .peer_address = "10.0.0.3:11380",
                             .version = "0.1.0",
                             .bytes = 2000,
                             .received_bytes = 840};
  EXPECT_EQ(decode_copy(encode(record)), std::optional(record));
  for (const char* bad : {"", "7", "{}", R"({"node":"c"})"}) {
    EXPECT_EQ(decode_copy(bad), std::nullopt) << bad;
  }
}

TEST(Records, Refusal) {
  const RefusalRecord record = {.node = "c",
                                .directory = "5f",
                                .version = "0.1.0",
                                .holds = 2000,
                                .why = "the log ends at 1990"};
  EXPECT_EQ(decode_refusal(encode(record)), std::optional(record));
  for (const char* bad : {"", "7", "{}", R"({"node":"c"})"}) {
    EXPECT_EQ(decode_refusal(bad), std::nullopt) << bad;
  }
}

TEST(Keys, NamesOfClustersAndNodes) {
  const std::pair<std::string, bool> cases[] = {
      {"a", true},         {"A-z_0.9", true},
      {".", true},         {std::string(64, 'a'), true},
      {"", false},         {std::string(65, 'a'), false},
      {"a b", false},      {"a/b", false},
      {"a:b", false},      {"a\n", false},
      {"\xc3\xa4", false},
  };
  for (const auto& [name, want] : cases) EXPECT_EQ(is_cluster_name(name), want) << name;
}

TEST(Records, Leader) {
  const LeaderRecord record = {.node = "a",
                               .directory = "d",
                               .client_address = "10.0.0.1:11300",
                               .peer_address = "10.0.0.1:11380",
                               .epoch = 7,
                               .reads_forward_header = true};
  EXPECT_EQ(decode_leader(encode(record)), record);
  // As an older version has written it; of a newer one something is passed over.
  const auto other =
      decode_leader(R"({"node":"a","directory":"d","client_address":"","peer_address":"",)"
                    R"("epoch":1,"of a newer version":[]})");
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->reads_forward_header);
  for (const char* bad : {"", "{}", "[]", "7", "{\"node\":\"a\"", R"({"node":7})",
                          R"({"node":"a","directory":"d","client_address":"","peer_address":"",)"
                          R"("epoch":-1})",
                          R"({"node":"a","directory":"d","client_address":"","peer_address":"",)"
                          R"("epoch":1,"reads_forward_header":1})"}) {
    EXPECT_EQ(decode_leader(bad), std::nullopt) << bad;
  }
}

TEST(Records, Node) {
  const NodeRecord record = {.node = "a",
                             .directory = "d",
                             .client_address = "c",
                             .peer_address = "p",
                             .version = "0.1.0",
                             .role = Role::Standby,
                             .format = 2,
                             .applied = 12,
                             .flushed = 11,
                             .has_space = false,
                             .is_damaged = true,
                             .priority = 7,
                             .puts = "held",
                             .settings = {{"users", "1f"}, {"jobs_max", "2f"}}};
  EXPECT_EQ(decode_node(encode(record)), record);
  // As a version without the fields writes it.
  std::string older = encode(record);
  for (const std::string_view field : {",\"has_space\":false", ",\"priority\":7"}) {
    older.erase(older.find(field), field.size());
  }
  EXPECT_TRUE(decode_node(older)->has_space);
  EXPECT_EQ(decode_node(older)->priority, priority_default);
  std::string bad = encode(record);
  bad.replace(bad.find("standby"), 7, "nothing");
  EXPECT_EQ(decode_node(bad), std::nullopt);
  EXPECT_EQ(decode_node("{}"), std::nullopt);
}

TEST(Records, SettingsDifferWhereBothHaveThem) {
  const SettingDigests one = {{"a", "1"}, {"b", "1"}, {"c", "1"}};
  EXPECT_TRUE(differing(one, {}).empty());
  EXPECT_TRUE(differing(one, {{"a", "1"}, {"d", "1"}}).empty());
  EXPECT_EQ(differing(one, {{"c", "2"}, {"b", "2"}, {"d", "2"}}),
            (std::vector<std::string>{"b", "c"}));
}

TEST(Records, Elections) {
  const ElectionTimes times = {1, 1'700'000'000'000};
  EXPECT_EQ(decode_elections(encode(times)), times);
  EXPECT_EQ(decode_elections(encode(ElectionTimes())), ElectionTimes());
  for (const char* bad : {"", "{}", "7", "[\"a\",-1]"}) {
    EXPECT_EQ(decode_elections(bad), ElectionTimes()) << bad;
  }
}

TEST(Records, Numbers) {
  EXPECT_EQ(decode_number(encode(~uint64_t{0})), std::optional<uint64_t>(~uint64_t{0}));
  for (const char* bad : {"", "-1", " 1", "1 ", "0x1", "18446744073709551616"}) {
    EXPECT_EQ(decode_number(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace perennial::store::cluster
