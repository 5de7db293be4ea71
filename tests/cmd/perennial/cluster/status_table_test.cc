#include "cmd/perennial/cluster/status_table.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {
namespace {

using store::cluster::NodeRecord;
using store::cluster::Role;
using store::etcd::Alarm;
using store::etcd::CallError;
using store::etcd::Failure;
using store::etcd::MemberStatus;

NodeRecord node(const std::string& name, Role role, BatchIndex applied) {
  NodeRecord record;
  record.node = name;
  record.client_address = name + ":11300";
  record.version = "0.1.0";
  record.role = role;
  record.format = 2;
  record.applied = applied;
  record.flushed = applied - 10;
  return record;
}

MemberStatus member(const std::string& endpoint, bool is_leader) {
  return {.endpoint = endpoint,
          .id = is_leader ? 0x1fU : 0x2fU,
          .version = "3.4.23",
          .database_bytes = 12'300'000,
          .is_leader = is_leader,
          .has_leader = true,
          .term = 2,
          .alarms = {}};
}

ClusterReport healthy() {
  ClusterReport report;
  report.name = "jobs";
  report.copies_min = 2;
  report.quota_bytes = 100'000'000;
  report.clock_offset_max_s = 10;
  ClusterState& state = report.state;
  state.id = "1f";
  state.epoch = 3;
  state.leader.emplace();
  state.leader->node = "a";
  state.leader->client_address = "a:11300";
  state.leader->epoch = 3;
  state.leader_revision = 7;
  state.first = 1001;
  state.last = 5234;
  state.entries = 4234;
  state.nodes = {node("a", Role::Leader, 5234), node("b", Role::Standby, 5200)};
  state.nodes[0].clock_ms = state.nodes[0].time_ms = 1'700'000'000'000;
  state.nodes[1].clock_ms = 1'699'999'999'400;  // Told a moment earlier.
  report.members = {{"http://x:2379", member("http://x:2379", true)},
                    {"http://y:2379", member("http://y:2379", false)}};
  return report;
}

TEST(StatusTable, HasTheLeaderTheLogTheNodesAndTheMembers) {
  EXPECT_EQ(
      status_table(healthy()),
      "cluster  jobs\n"
      "id       1f\n"
      "leader   a at a:11300, epoch 3\n"
      "log      1,001 to 5,234: 4,234 entries\n"
      "\n"
      "NODE  ROLE     APPLIED  FLUSHED  BEHIND  CLOCK  PRIORITY  FORMAT  VERSION  CLIENTS  PEERS\n"
      "a     leader     5,234    5,224       0   +0 s        50       2  0.1.0    a:11300  -\n"
      "b     standby    5,200    5,190      34   -1 s        50       2  0.1.0    b:11300  -\n"
      "\n"
      "MEMBER OF ETCD  ROLE      DATABASE  QUOTA  ALARMS  VERSION\n"
      "http://x:2379   leader     12.3 MB    12%  -       3.4.23\n"
      "http://y:2379   follower   12.3 MB    12%  -       3.4.23\n");
}

// All members name the alarm, whoever has raised it.
TEST(StatusTable, HasTheAlarmsOfEachMember) {
  ClusterReport report = healthy();
  for (MemberState& member : report.members) {
    std::get<MemberStatus>(member.status).alarms = {{.member = 0x2f, .kind = Alarm::Kind::NoSpace},
                                                    {.member = 0x2f, .kind = Alarm::Kind::Corrupt},
                                                    {.member = 0x3f, .kind = Alarm::Kind::NoSpace}};
  }
  EXPECT_NE(status_table(report).find("http://x:2379   leader     12.3 MB    12%  -  "),
            std::string::npos);
  EXPECT_NE(status_table(report).find("12%  NOSPACE,CORRUPT  3.4.23\n"), std::string::npos);
  const nlohmann::ordered_json json = status_json(report);
  EXPECT_EQ(json["members"][0]["alarms"], nlohmann::ordered_json::array());
  EXPECT_EQ(json["members"][1]["alarms"], (nlohmann::ordered_json{"NOSPACE", "CORRUPT"}));
  const std::vector<std::string> warnings = cluster_warnings(report);
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_EQ(warnings[0].substr(0, 47), "http://y:2379 has raised the alarm NOSPACE: etc");
  EXPECT_EQ(warnings[1].substr(0, 47), "http://y:2379 has raised the alarm CORRUPT: it ");
  EXPECT_EQ(warnings[2].substr(0, 44), "member 3f has raised the alarm NOSPACE: etcd");
}

TEST(StatusTable, WarnsOfClocksThatAreOff) {
  ClusterReport report = healthy();
  EXPECT_TRUE(cluster_warnings(report).empty());
  report.state.nodes[1].clock_ms += 864'000'000;
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_EQ(cluster_warnings(report)[0],
            "the wall clock of node b is 863999 s ahead of the cluster's time (clock_offset_max_s: "
            "10): set the clock that is wrong");
  EXPECT_EQ(status_json(report)["nodes"][1]["clock_ahead_s"], 863'999);
  report.state.nodes[1].clock_ms = 1'699'999'900'000;
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_NE(cluster_warnings(report)[0].find("100 s behind"), std::string::npos);
  // An older version tells none.
  report.state.nodes[1].clock_ms = 0;
  EXPECT_TRUE(cluster_warnings(report).empty());
  EXPECT_TRUE(status_json(report)["nodes"][1]["clock_ahead_s"].is_null());
}

// Each of them was called wrong, where the cluster's time was.
TEST(StatusTable, SetsNoClockWhereAllOfThemAgree) {
  ClusterReport report = healthy();
  for (auto& node : report.state.nodes) node.clock_ms += 196'000;
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_EQ(cluster_warnings(report)[0].substr(0, 79),
            "the cluster's time is 195 s behind the wall clocks of all nodes, which agree: d");
  // One alone proves nothing.
  report.state.nodes.resize(1);
  report.copies_min = 1;
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_NE(cluster_warnings(report)[0].find("the wall clock of node a is 196 s ahead"),
            std::string::npos);
}

TEST(StatusTable, WarnsOfSettingsThatAreOthersThanTheLeaders) {
  ClusterReport report = healthy();
  report.state.nodes[0].settings = {{"jobs_max", "1"}, {"users", "1"}, {"extensions", "1"}};
  EXPECT_TRUE(cluster_warnings(report).empty());  // An older version tells none.
  report.state.nodes[1].settings = {{"jobs_max", "2"}, {"users", "2"}, {"extensions", "1"}};
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_EQ(cluster_warnings(report)[0],
            "settings of node b are others than the leader's, and clients would meet them if it "
            "led: jobs_max, users; etc/docs/cluster.md, \"Change settings\"");
  EXPECT_EQ(status_json(report)["nodes"][0]["settings_differ"], nlohmann::ordered_json::array());
  EXPECT_EQ(status_json(report)["nodes"][1]["settings_differ"],
            (nlohmann::ordered_json{"jobs_max", "users"}));
  // Nobody leads.
  report.state.leader.reset();
  EXPECT_TRUE(report.state.settings_differ(report.state.nodes[1]).empty());
}

TEST(StatusTable, WarnsOfElectionsThatFollowEachOther) {
  ClusterReport report = healthy();
  const uint64_t now_ms = report.state.nodes[0].clock_ms;
  report.state.elections = {now_ms - 3'600'000, now_ms - 600'001, now_ms - 600'000, now_ms - 1};
  EXPECT_EQ(report.state.recent_elections(), 2U);
  EXPECT_TRUE(cluster_warnings(report).empty());
  report.state.elections.push_back(now_ms + 5'000);  // By a clock that is ahead.
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_TRUE(cluster_warnings(report)[0].starts_with(
      "3 nodes were elected in the last ten minutes: each election ends all connections; "));
  EXPECT_EQ(status_json(report)["elections"]["count"], 3);
  EXPECT_EQ(status_json(report)["elections"]["times_ms"].size(), 5U);
  report.state.nodes.clear();
  EXPECT_EQ(report.state.recent_elections(), 0U);
}

TEST(StatusTable, SaysWhyTheLeaderTakesNoPuts) {
  ClusterReport report = healthy();
  EXPECT_TRUE(status_json(report)["leader"]["puts"].is_null());  // An older version tells nothing.
  report.state.nodes[0].puts = "accepted";
  EXPECT_TRUE(cluster_warnings(report).empty());
  EXPECT_EQ(status_json(report)["leader"]["puts"], "accepted");
  report.state.nodes[0].puts = "held";
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_TRUE(cluster_warnings(report)[0].starts_with("puts wait: the log in etcd has reached "));
  report.state.nodes[0].puts = "refused";
  ASSERT_EQ(cluster_warnings(report).size(), 1U);
  EXPECT_TRUE(cluster_warnings(report)[0].starts_with("puts are refused: the database of etcd "));
  // What a former leader has said last counts no more.
  report.state.nodes[0].role = Role::Standby;
  EXPECT_TRUE(cluster_warnings(report).empty());
}

TEST(StatusTable, SaysThatNobodyIsThere) {
  ClusterReport report = healthy();
  report.state.leader.reset();
  report.state.leader_revision = 0;
  report.state.nodes.clear();
  report.state.base = 5234;
  report.state.entries = 0;
  report.members = {{"http://x:2379", Failure{.error = CallError::Unknown, .message = "x: gone"}}};
  const std::string table = status_table(report);
  EXPECT_NE(table.find("leader   none; the last epoch was 3\nlog      empty, after batch 5,234\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("\nno node is there\n"), std::string::npos) << table;
  EXPECT_NE(table.find("http://x:2379   unreachable"), std::string::npos) << table;
  EXPECT_NE(table.find("\nwarning: no node leads"), std::string::npos) << table;
}

TEST(StatusTable, ShowsNodesThatGetACopy) {
  ClusterReport report = healthy();
  report.state.copies = {
      {.node = "c",
       .from = "b",
       .client_address = "c:11300",
       .peer_address = "c:11380",
       .version = "0.1.0",
       .bytes = 2000,
       .received_bytes = 840},
      {.node = "d", .from = {}, .client_address = "d:11300", .peer_address = {}, .version = {}}};
  const std::string table = status_table(report);
  const std::string nodes =
      "NODE  ROLE         APPLIED  FLUSHED  BEHIND  CLOCK  PRIORITY  FORMAT  VERSION  CLIENTS  "
      "PEERS\n"
      "a     leader         5,234    5,224       0   +0 s        50       2  0.1.0    a:11300  -\n"
      "b     standby        5,200    5,190      34   -1 s        50       2  0.1.0    b:11300  -\n"
      "c     copying 42%        -        -       -      -         -       -  0.1.0    c:11300  "
      "c:11380\n"
      "d     copying            -        -       -      -         -       -  -        d:11300  "
      "-\n";
  EXPECT_NE(table.find(nodes), std::string::npos) << table;
  EXPECT_TRUE(cluster_warnings(report).empty());
  const nlohmann::ordered_json json = status_json(report);
  EXPECT_EQ(json["nodes"].size(), 2U);
  EXPECT_EQ(json["copies"][0]["from"], "b");
  EXPECT_EQ(json["copies"][0]["received_bytes"], 840);
  report.state.nodes.clear();
  EXPECT_EQ(status_table(report).find("no node is there"), std::string::npos);
}

TEST(StatusTable, JsonHasWhatTheTableHas) {
  const nlohmann::ordered_json json = status_json(healthy());
  EXPECT_EQ(json["leader"]["node"], "a");
  EXPECT_EQ(json["log"]["first"], 1001);
  EXPECT_EQ(json["nodes"][1]["behind"], 34);
  EXPECT_EQ(json["nodes"][1]["priority"], 50);
  EXPECT_EQ(json["members"][1]["is_leader"], false);
  EXPECT_EQ(json["warnings"], nlohmann::ordered_json::array());
  EXPECT_EQ(json["refused"], nlohmann::ordered_json::array());
  ClusterReport report = healthy();
  report.state.resigned_left_s = {{"b", 90}};
  EXPECT_EQ(status_json(report)["resigned"],
            (nlohmann::ordered_json::array({{{"node", "b"}, {"left_s", 90}}})));
  report.state.repairs = {"b"};
  EXPECT_EQ(status_json(report)["repairs"], nlohmann::ordered_json::array({"b"}));
  EXPECT_TRUE(status_json(report)["paused"].is_null());
  report.state.maintenance.pause = {.node = "a", .directory = "5f"};
  report.state.paused_left_s = 60;
  EXPECT_EQ(status_json(report)["paused"], (nlohmann::ordered_json{{"node", "a"}, {"left_s", 60}}));
  report.state.refusals.push_back(
      {.node = "c", .directory = {}, .version = "0.1.0", .holds = 9000, .why = "end"});
  EXPECT_EQ(status_json(report)["refused"][0]["holds"], 9000);
  report.state.leader.reset();
  report.members[0].status = Failure{.error = CallError::Unknown, .message = "x: gone"};
  EXPECT_TRUE(status_json(report)["leader"].is_null());
  EXPECT_EQ(status_json(report)["members"][0]["problem"], "x: gone");
}

struct WarningCase {
  std::string name;
  std::function<void(ClusterReport&)> change;
  std::string want;  // How the one warning begins. Empty: there is none.
};

class ClusterWarningTest : public testing::TestWithParam<WarningCase> {};

TEST_P(ClusterWarningTest, IsTheOnlyOne) {
  ClusterReport report = healthy();
  GetParam().change(report);
  const std::vector<std::string> warnings = cluster_warnings(report);
  if (GetParam().want.empty()) {
    EXPECT_TRUE(warnings.empty()) << warnings[0];
    return;
  }
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].substr(0, GetParam().want.size()), GetParam().want);
}

MemberStatus& first_member(ClusterReport& report) {
  return std::get<MemberStatus>(report.members[0].status);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ClusterWarningTest,
    testing::Values(
        WarningCase{"Healthy", [](ClusterReport&) {}, ""},
        WarningCase{"NoLeader", [](ClusterReport& r) { r.state.leader_revision = 0; },
                    "no node leads"},
        WarningCase{"AlmostBehind", [](ClusterReport& r) { r.state.nodes[1].applied = 5234 - 999; },
                    ""},
        WarningCase{"Behind", [](ClusterReport& r) { r.state.nodes[1].applied = 5234 - 1000; },
                    "node b is 1,000 entries behind"},
        WarningCase{"AboveTheEndOfTheLog",
                    [](ClusterReport& r) { r.state.nodes[1].applied = 5235; },
                    "node b holds batch 5,235, and the log in etcd ends at 5,234"},
        WarningCase{
            "Refused",
            [](ClusterReport& r) {
              r.state.refusals.push_back(
                  {.node = "c", .directory = {}, .version = {}, .holds = 9000, .why = "the end"});
            },
            "node c was refused, because it holds batch 9,000 and the log in etcd does not "
            "(the end)"},
        WarningCase{"Unreached", [](ClusterReport& r) { r.state.nodes[1].reaches_leader = false; },
                    "node b does not reach the leader at its peer_address"},
        WarningCase{"Reached", [](ClusterReport& r) { r.state.nodes[1].reaches_leader = true; },
                    ""},
        WarningCase{"OneNeverLeads", [](ClusterReport& r) { r.state.nodes[1].priority = 0; }, ""},
        WarningCase{"NobodyMayLead",
                    [](ClusterReport& r) {
                      for (NodeRecord& each : r.state.nodes) each.priority = 0;
                    },
                    "no node that is there may lead: each has the priority 0"},
        WarningCase{"Resigned",
                    [](ClusterReport& r) {
                      r.state.maintenance.resigned = {"b"};
                      r.state.resigned_left_s = {{"b", 90}};
                    },
                    "node b has resigned, and does not lead for another 1 min 30 s"},
        WarningCase{"Paused",
                    [](ClusterReport& r) {
                      r.state.maintenance.pause = {.node = "a", .directory = "5f"};
                      r.state.maintenance.pause_revision = 7;
                      r.state.paused_left_s = 90;
                    },
                    "takeovers are paused for another 1 min 30 s: only node a may lead"},
        WarningCase{"Repair", [](ClusterReport& r) { r.state.repairs = {"b"}; },
                    "node b shall get a copy of another node's database, and has not begun"},
        WarningCase{"TooFewNodes", [](ClusterReport& r) { r.state.nodes.pop_back(); },
                    "1 of at least 2 nodes are there"},
        WarningCase{"Versions", [](ClusterReport& r) { r.state.nodes[1].version = "0.2.0"; },
                    "the nodes have different versions: 0.1.0, 0.2.0"},
        WarningCase{"DiskOfTheLeader", [](ClusterReport& r) { r.state.nodes[0].has_space = false; },
                    "the disk of node a is nearly full: puts are refused, until"},
        WarningCase{"DiskOfAStandby", [](ClusterReport& r) { r.state.nodes[1].has_space = false; },
                    "the disk of node b is nearly full: it leads only if no other node can"},
        WarningCase{"HalfOfTheQuota",
                    [](ClusterReport& r) { first_member(r).database_bytes = 50'000'000; }, ""},
        WarningCase{"AboveHalfOfTheQuota",
                    [](ClusterReport& r) { first_member(r).database_bytes = 50'000'001; },
                    "the database of http://x:2379 has "},
        WarningCase{"MemberGone",
                    [](ClusterReport& r) {
                      r.members[1].status =
                          Failure{.error = CallError::Unknown, .message = "http://y:2379: refused"};
                    },
                    "a member of etcd does not answer: http://y:2379: refused"},
        WarningCase{"MemberCutOff",
                    [](ClusterReport& r) {
                      std::get<MemberStatus>(r.members[1].status).has_leader = false;
                    },
                    "http://y:2379 has no leader of etcd"}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::tool
