#include "cmd/perenniald/config/cluster_config.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/config/config.h"

namespace perennial::perenniald {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// The settings without which there is no cluster, and `more`.
std::string section(const std::string& more = {}) {
  return "cluster: {name: jobs, node: a, etcd: ['http://10.0.0.1:2379'], "
         "client_address: '10.0.0.1:11300'" +
         more + "}";
}

Problems read(Config& config, const std::string& yaml) {
  return read_config(config, yaml, "f");
}

std::string cluster_line(const Config& config) {
  return config_text(config, config_field("cluster"));
}

TEST(ClusterConfig, ABadNameIsNamed) {
  ClusterConfig config;
  EXPECT_EQ(set_cluster(config, "node", "a/b"), "'a/b' is not 1 to 64 letters, digits and -_.");
  EXPECT_EQ(set_cluster(config, "node", std::string(64, 'a')), "");
}

TEST(ClusterConfig, AnAddressHasAHostAndAPortThatOthersReach) {
  for (const std::string text :
       {"10.0.0.1:11300", "a.example.org:1", "localhost:65535", "[fd00::1]:11300", "[::1]:80"}) {
    EXPECT_EQ(check_node_address(text), "") << text;
    EXPECT_EQ(check_endpoint("http://" + text), "") << text;
    EXPECT_EQ(check_endpoint("https://" + text), "") << text;
  }
  for (const std::string text :
       {"",        "a",     "a:",        ":11300", "a:0",         "a:65536",
        "a:http",  "a:-1",  "a:1/",      "a/b:1",  "a b:1",       "::1:80",
        "fd00::1", "[::1]", "[::1",      "[a]:1",  "unix:/run/p", "unix:1",
        "u:p@a:1", "a,b:1", "0.0.0.0:1", "[::]:1"}) {
    EXPECT_THAT(check_node_address(text), HasSubstr(fmt::format("'{}' ", text)));
    EXPECT_THAT(check_endpoint("http://" + text), HasSubstr("is not http://HOST:PORT or https://"));
  }
  for (const std::string text : {"", "10.0.0.1:2379", "ftp://a:1", "HTTP://a:1", "http:a:1"}) {
    EXPECT_THAT(check_endpoint(text), HasSubstr("is not http://HOST:PORT or https://")) << text;
  }
}

TEST(ClusterConfig, WithoutClustersInTheBuildASectionIsRefused) {
  EXPECT_EQ(check_cluster_is_built(true), "");
  EXPECT_THAT(check_cluster_is_built(false), HasSubstr("-DPERENNIAL_CLUSTER=ON"));
  Config config = default_config();
  const Problems problems = read(config, section());
  EXPECT_EQ(problems.empty(), cluster_is_built());
  EXPECT_EQ(config.cluster.is_set(), cluster_is_built());
  for (const std::string yaml : {"cluster:", "cluster: {}"}) {
    EXPECT_THAT(read(config, yaml), IsEmpty());
    EXPECT_FALSE(config.cluster.is_set());
  }
}

uint64_t number_of(ClusterConfig config, const ConfigField& field) {
  return *static_cast<uint64_t*>(field.value(&config));
}

TEST(ClusterConfig, EachNumberIsAcceptedAtItsBoundsAndNotPastThem) {
  for (const ConfigField& field : cluster_fields()) {
    if (!field.is_bounded()) continue;
    for (const uint64_t value : {field.lowest, field.highest}) {
      ClusterConfig config;
      EXPECT_EQ(set_cluster(config, field.key, fmt::format("{}", value)), "");
      EXPECT_EQ(number_of(config, field), value) << field.key;
    }
    const std::string below = field.lowest == 0 ? "-1" : fmt::format("{}", field.lowest - 1);
    const std::string past = fmt::format("{}", field.highest + 1);
    for (const std::string& value : {below, past, std::string("x")}) {
      ClusterConfig config;
      EXPECT_THAT(set_cluster(config, field.key, value),
                  testing::StartsWith(fmt::format("'{}' is not a ", value)));
      EXPECT_EQ(number_of(config, field), number_of({}, field)) << field.key;
    }
  }
}

TEST(ClusterConfig, BoundsAreThoseOfTheDesign) {
  const auto bounds_of = [](std::string_view key) {
    const ConfigField* const field = find_field(cluster_fields(), key);
    return std::pair(field->lowest, field->highest);
  };
  EXPECT_EQ(bounds_of("priority"), std::pair(uint64_t{0}, uint64_t{100}));
  EXPECT_EQ(bounds_of("lease_s"), std::pair(uint64_t{5}, uint64_t{300}));
  EXPECT_EQ(bounds_of("clock_offset_max_s"), std::pair(uint64_t{1}, uint64_t{3600}));
  EXPECT_EQ(bounds_of("copies_min"), std::pair(uint64_t{1}, uint64_t{9}));
  EXPECT_EQ(bounds_of("sync_ms"), std::pair(uint64_t{1}, uint64_t{10'000}));
  EXPECT_EQ(bounds_of("forward_wait_s"), std::pair(uint64_t{0}, uint64_t{300}));
  constexpr uint64_t mib = 1ull << 20;
  EXPECT_EQ(bounds_of("log_keep_bytes"), std::pair(mib, mib << 14));
  EXPECT_EQ(bounds_of("log_bytes_max"), std::pair(8 * mib, mib << 14));
  EXPECT_EQ(bounds_of("etcd_quota_bytes"), std::pair(64 * mib, mib << 16));
}

TEST(ClusterConfig, ASectionIsAcceptedOrRefusedWithItsKey) {
  if (!cluster_is_built()) GTEST_SKIP() << "this build refuses every section";
  struct Case {
    std::string yaml;
    std::string problem;  // Empty: none.
  };
  const std::string tls = "cluster: {name: j, node: a, client_address: 'a:1', ";
  const Case cases[] = {
      {section(), ""},
      {section(", peer_address: 'a:2', copies_min: 1, etcd_compact: false"), ""},
      {section(", standby_clients: refuse, etcd_user: u, etcd_password_file: /p"), ""},
      {section(", peer_ca: /ca, peer_token_file: /t"), ""},
      {section(", peer_token_file: /t"), "f:1: cluster: peer_token_file needs peer_ca"},
      {section(", peer_ca: /ca, peer_certificate: /c, peer_key: /k"), ""},
      {section(", peer_ca: /ca, peer_certificate: /c"),
       "f:1: cluster: peer_certificate and peer_key go together"},
      {section(", peer_certificate: /c, peer_key: /k"),
       "f:1: cluster: peer_certificate needs peer_ca: without it the nodes speak HTTP without TLS"},
      {section(", peer_ca: ''"),
       "f:1: cluster: peer_ca: expected the path of a file of 1 to 4096 bytes"},
      {tls + "etcd: 'https://a:1'}", ""},
      {tls + "etcd: 'https://a:1', etcd_tls: {ca: /c}}", ""},
      {tls + "etcd: 'https://a:1', etcd_tls: {certificate: /c, key: /k}}", ""},
      {"cluster: a", "f:1: cluster: expected {name: ..., node: ..., etcd: [...], client_address"},
      {"cluster: [a]", "f:1: cluster: expected {name: ..., node: ..., etcd: [...], client_address"},
      {"cluster: {[a]: b}", "f:1: cluster: expected the name of a setting"},
      {"cluster:\n  name: a b", "f:2: cluster: name: 'a b' is not 1 to 64 letters, digits and"},
      {"cluster:\n  node: ''", "f:2: cluster: node: '' is not 1 to 64 letters, digits and -_."},
      {"cluster:\n  etcd: [a]", "f:2: cluster: etcd: 'a' is not http://HOST:PORT or https://"},
      {"cluster: {etcd: ['http://a:1', 'http://a:1']}",
       "f:1: cluster: etcd: 'http://a:1' is there"},
      {"cluster: {etcd: [[a]]}", "f:1: cluster: etcd: expected one value"},
      {"cluster: {lease_s: }", "f:1: cluster: lease_s: expected one value"},
      {"cluster: {lease_s: 5, lease_s: 6}", "f:1: cluster: lease_s: set twice"},
      {"cluster: {etcd_tls: {key: a, key: b}}", "f:1: cluster: etcd_tls.key: set twice"},
      {"cluster: {leese_s: 5}", "f:1: cluster: leese_s: there is no such setting: name, node, et"},
      {"cluster: {etcd_tls: {pem: a}}", "f:1: cluster: etcd_tls.pem: there is no such setting: "},
      {"cluster: {etcd_tls: a}", "f:1: cluster: etcd_tls: expected {ca: ..., certificate: ..., k"},
      {"cluster: {etcd_tls: {ca: ''}}", "f:1: cluster: etcd_tls.ca: expected the path of a file"},
      {"cluster: {etcd_user: ''}", "f:1: cluster: etcd_user: expected a name of 1 to 4096 bytes"},
      {"cluster: {etcd_user: \"a\\0\"}", "f:1: cluster: etcd_user: must not hold a NUL byte"},
      {"cluster: {etcd_compact: yes}", "f:1: cluster: etcd_compact: 'yes' is not true or false"},
      {"cluster: {settings_differ: no}", "f:1: cluster: settings_differ: 'no' is not one of warn"},
      {section(", etcd_discovery: example.org"),
       "f:1: cluster: etcd_discovery takes the place of etcd"},
      {"cluster: {etcd_discovery: 'http://example.org'}",
       "f:1: cluster: etcd_discovery: 'http://ex"},
      {"cluster: {standby_clients: no}", "f:1: cluster: standby_clients: 'no' is not one of"},
      {"cluster: {client_address: ':1'}", "f:1: cluster: client_address: ':1' is not HOST:PORT"},
      {"cluster: {peer_address: '0.0.0.0:1'}",
       "f:1: cluster: peer_address: '0.0.0.0:1' stands for every interface"},
      {section(", etcd_tls: {ca: /c}"),
       "f:1: cluster: etcd_tls is set, and the endpoints are http"},
      {tls + "etcd: 'https://a:1', etcd_tls: {key: /k}}",
       "f:1: cluster: etcd_tls: certificate and key go together"},
      {tls + "etcd: ['https://a:1', 'http://b:1']}",
       "f:1: cluster: etcd: some endpoints are http and some https"},
      {section(", etcd_user: u"), "f:1: cluster: etcd_user and etcd_password_file go together"},
      {section(", peer_address: '10.0.0.1:11300'"), "f:1: cluster: peer_address is the same as"},
      {section(", log_keep_bytes: 256MiB"), ""},
      {section(", log_keep_bytes: 257MiB"), "f:1: cluster: log_keep_bytes is more than log_bytes"},
      {section(", log_bytes_max: 1GiB"), ""},
      {section(", log_bytes_max: 1073741825"), "f:1: cluster: log_bytes_max is more than half of"},
  };
  for (const Case& c : cases) {
    Config config = default_config();
    const Problems problems = read(config, c.yaml);
    if (c.problem.empty()) {
      EXPECT_THAT(problems, IsEmpty()) << c.yaml;
      Config again = default_config();
      EXPECT_THAT(read(again, print_config(config)), IsEmpty()) << print_config(config);
      EXPECT_EQ(print_config(again), print_config(config));
      EXPECT_EQ(cluster_line(again), cluster_line(config));
    } else {
      EXPECT_THAT(problems, ElementsAre(HasSubstr(c.problem))) << c.yaml;
    }
  }
}

TEST(ClusterConfig, ASectionNeedsFourSettings) {
  EXPECT_THAT(check_cluster({}), ElementsAre(HasSubstr("needs a name"), HasSubstr("node: "),
                                             HasSubstr("etcd: "), HasSubstr("client_address: ")));
}

TEST(ClusterConfig, ThereAre9EndpointsAndNoMore) {
  ClusterConfig config;
  for (int i = 1; i <= 9; ++i) {
    EXPECT_EQ(set_cluster(config, "etcd", fmt::format("http://a:{}", i)), "");
  }
  EXPECT_EQ(set_cluster(config, "etcd", "http://a:10"), "at most 9 endpoints");
  EXPECT_EQ(config.etcd.size(), 9u);
}

TEST(ClusterConfig, EveryTextIsPrintedSoThatItReadsBack) {
  if (!cluster_is_built()) GTEST_SKIP() << "this build refuses every section";
  Config config = default_config();
  config.cluster.name = "1.0";
  config.cluster.node = "-";
  config.cluster.etcd = {"https://[::1]:1", "https://b:2"};
  config.cluster.client_address = "[::1]:1";
  config.cluster.etcd_ca = "}, {\"'";
  config.cluster.etcd_certificate = " a: b #";
  config.cluster.etcd_key = "\r";
  config.cluster.etcd_user = "~";
  config.cluster.etcd_password_file = "[a";
  config.cluster.standby_clients = StandbyClients::Refuse;
  config.cluster.settings_differ = SettingsDiffer::Refuse;
  config.cluster.etcd_compact = false;
  Config again = default_config();
  EXPECT_THAT(read(again, print_config(config)), IsEmpty());
  EXPECT_EQ(again.cluster.etcd, config.cluster.etcd);
  EXPECT_EQ(again.cluster.etcd_ca, config.cluster.etcd_ca);
  EXPECT_EQ(again.cluster.etcd_key, config.cluster.etcd_key);
  EXPECT_EQ(again.cluster.standby_clients, StandbyClients::Refuse);
  EXPECT_EQ(again.cluster.settings_differ, SettingsDiffer::Refuse);
  EXPECT_FALSE(again.cluster.etcd_compact);
  EXPECT_EQ(cluster_line(again), cluster_line(config));
}

TEST(ClusterConfig, AClusterLowersBatchesThatHaveNoSizeOfTheirOwn) {
  if (!cluster_is_built()) GTEST_SKIP() << "this build refuses every section";
  const std::pair<std::string, uint64_t> cases[] = {
      {section(), 262'144},
      {section() + "\nbatch_bytes_max: 100000", 100'000},
      {"batch_bytes_max: 100000\n" + section(), 100'000},
      {"batch_bytes_max: 262145\n" + section(), 262'145},
      {"cluster: {}", 4u << 20},
  };
  for (const auto& [yaml, want] : cases) {
    Config config = default_config();
    EXPECT_THAT(read(config, yaml), IsEmpty());
    EXPECT_EQ(config.batch_bytes_max, want) << yaml;
  }
}

TEST(ClusterConfig, AClusterLimitsOtherSettings) {
  struct Case {
    std::string name;
    void (*change)(Config&);
    std::string problem;  // Empty: none.
  };
  const Case cases[] = {
      {"defaults", [](Config&) {}, ""},
      {"job", [](Config& c) { c.job_bytes_max = 1'048'576; }, ""},
      {"job + 1", [](Config& c) { c.job_bytes_max = 1'048'577; }, "cluster: job_bytes_max is"},
      {"batch", [](Config& c) { c.batch_bytes_max = 262'144; }, ""},
      {"batch + 1", [](Config& c) { c.batch_bytes_max = 262'145; }, "cluster: batch_bytes_max is"},
      {"interval", [](Config& c) { c.durability = store::Durability::Interval; },
       "cluster: durability is interval"},
      {"never", [](Config& c) { c.durability = store::Durability::Never; },
       "cluster: durability is never"},
  };
  for (const Case& c : cases) {
    Config config = default_config();
    config.batch_bytes_max = cluster_batch_bytes_max;
    c.change(config);
    EXPECT_THAT(check_cluster_limits(config), IsEmpty()) << c.name;
    config.cluster.name = "jobs";
    if (c.problem.empty()) {
      EXPECT_THAT(check_cluster_limits(config), IsEmpty()) << c.name;
    } else {
      EXPECT_THAT(check_cluster_limits(config), ElementsAre(HasSubstr(c.problem))) << c.name;
    }
  }
}

TEST(ClusterConfig, HowEtcdIsReachedMayChangeAndTheRestNeedsARestart) {
  Config running = default_config();
  ASSERT_THAT(read(running, section()), IsEmpty());
  Config changed = default_config();
  ASSERT_THAT(read(changed,
                   "memory_bytes_max: 1GiB\n"
                   "cluster: {name: jobs, node: b, etcd: ['https://10.0.0.2:2379', "
                   "'https://10.0.0.3:2379'], etcd_tls: {ca: /ca, certificate: /c, key: /k}, "
                   "etcd_user: u, etcd_password_file: /p, client_address: '10.0.0.1:11300', "
                   "peer_address: '10.0.0.1:11380', lease_s: 20, etcd_compact: false}"),
              IsEmpty());
  EXPECT_THAT(settings_to_restart(running, running), IsEmpty());
  EXPECT_THAT(settings_to_restart(running, changed),
              ElementsAre("memory_bytes_max", "cluster.node", "cluster.peer_address",
                          "cluster.lease_s", "cluster.etcd_compact"));
  set_etcd_settings(running.cluster, changed.cluster);
  EXPECT_EQ(running.cluster.etcd, changed.cluster.etcd);
  EXPECT_EQ(running.cluster.etcd_ca, "/ca");
  EXPECT_EQ(running.cluster.etcd_certificate, "/c");
  EXPECT_EQ(running.cluster.etcd_key, "/k");
  EXPECT_EQ(running.cluster.etcd_user, "u");
  EXPECT_EQ(running.cluster.etcd_password_file, "/p");
  EXPECT_EQ(running.cluster.node, "a");
  EXPECT_EQ(running.cluster.lease_s, 10U);
  // A section that is gone is named, too.
  EXPECT_THAT(
      settings_to_restart(running, default_config()),
      ElementsAre("batch_bytes_max", "cluster.name", "cluster.node", "cluster.client_address"));
}

}  // namespace
}  // namespace perennial::perenniald
