#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cmd/perenniald/console/assets.h"
#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr Nanos second = nanos_per_second;

class RoutesTest : public Port {};

TEST_F(RoutesTest, TellsWhetherTheServerLives) {
  EXPECT_TRUE(ask(get("/livez")).ends_with("\r\n\r\nok\n"));
  EXPECT_EQ(route(), "/livez");
  EXPECT_TRUE(ask(get("/livez?verbose"))
                  .ends_with("\r\n\r\n[+]loop ok\n[+]commit ok\nlivez check passed\n"));
  health().commit_age = 30 * second;
  const std::string dead = ask(get("/livez"));
  EXPECT_TRUE(dead.starts_with("HTTP/1.1 503 "));
  EXPECT_THAT(dead, HasSubstr("[-]commit a batch is not on disk after a long time\n"));
  EXPECT_TRUE(ask(get("/livez?exclude=commit")).ends_with("\r\n\r\nok\n"));
}

TEST_F(RoutesTest, TellsWhetherTheServerIsReady) {
  EXPECT_TRUE(ask(get("/readyz")).ends_with("\r\n\r\nok\n"));
  health().accepts_puts = false;
  health().commit_age = 100 * second;
  const std::string full = ask(get("/readyz?verbose"));
  EXPECT_TRUE(full.starts_with("HTTP/1.1 200 "));
  EXPECT_THAT(full,
              HasSubstr("[+]disk ok, degraded: puts are refused, since the disk is nearly full\n"));
  EXPECT_THAT(full, HasSubstr("[+]bodies ok\n"));
  health().jobs_without_body = 1;
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]bodies ok, degraded: damage on disk has cost 1 job the body\n"));
  EXPECT_THAT(full, HasSubstr("[+]tables ok\n"));
  health().is_table_damaged = true;
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]tables ok, degraded: the last checkpoint has met damage"));
  health().damaged_rows = 1;
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]tables ok, degraded: rows of jobs are damaged on disk, and whole in "
                        "memory"));
  health().is_draining = true;
  EXPECT_TRUE(ask(get("/readyz")).starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(ask(get("/readyz?exclude=drain")).starts_with("HTTP/1.1 200 "));
  health().is_stopping = true;
  EXPECT_THAT(ask(get("/readyz?exclude=drain")), HasSubstr("[-]stop the server is stopping\n"));
}

// While the directory is read only health is answered: the engine belongs to another thread.
TEST_F(RoutesTest, AnswersHealthBeforeTheJobsAreLoaded) {
  is_loaded_ = false;
  health().is_recovered = false;
  EXPECT_TRUE(ask(get("/livez")).ends_with("\r\n\r\nok\n"));
  const std::string early = ask(get("/readyz"));
  EXPECT_TRUE(early.starts_with("HTTP/1.1 503 "));
  EXPECT_THAT(early, HasSubstr("[-]recovery the data directory is being read\n"));
  for (const char* path : {"/metrics", "/metrics/tubes", "/api/v1/server", "/api/v1/jobs"}) {
    const std::string out = ask(get(path));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 503 ")) << path;
    EXPECT_THAT(out, HasSubstr("Retry-After: 1\r\n")) << path;
  }
}

TEST_F(RoutesTest, TellsLoadBalancersWhoLeads) {
  EXPECT_TRUE(ask(get("/leader")).starts_with("HTTP/1.1 200 "));  // A server alone leads itself.
  cluster_ = {.is_node = true};
  EXPECT_THAT(ask(get("/leader")), HasSubstr("\r\n\r\nno node leads\n"));
  cluster_.leader = "b";
  cluster_.leader_address = "10.0.0.2:11300";
  const std::string other = ask(get("/leader"));
  EXPECT_TRUE(other.starts_with("HTTP/1.1 503 "));
  EXPECT_THAT(other, HasSubstr("the leader is b at 10.0.0.2:11300\n"));
  cluster_.leads = true;
  EXPECT_TRUE(ask(get("/leader")).starts_with("HTTP/1.1 200 "));
  cluster_.is_stopping = true;
  EXPECT_TRUE(ask(get("/leader")).starts_with("HTTP/1.1 503 "));
}

TEST_F(RoutesTest, AStandbyThatPassesClientsOnIsReady) {
  is_loaded_ = false;
  health().is_recovered = false;
  cluster_ = {.is_node = true, .forwards = true};
  EXPECT_THAT(ask(get("/readyz")), HasSubstr("[-]cluster no node leads\n"));
  cluster_.leader = "b";
  EXPECT_TRUE(ask(get("/readyz")).ends_with("\r\n\r\nok\n"));
  EXPECT_THAT(ask(get("/api/v1/server")),
              HasSubstr("This node is a standby: ask the leader, b at"));
  cluster_.lag = 10'001;
  EXPECT_THAT(ask(get("/readyz")), HasSubstr("[-]cluster a standby that lags behind the log\n"));
  cluster_.lag = 0;
  cluster_.forwards = false;
  EXPECT_THAT(ask(get("/readyz")), HasSubstr("[-]cluster a standby, which refuses clients\n"));
}

TEST_F(RoutesTest, AStandbyWithoutDiskSpaceSaysThatItIsTheLastToLead) {
  health().is_recovered = false;
  cluster_ = {.is_node = true, .forwards = true, .has_space = false, .leader = "b"};
  EXPECT_TRUE(ask(get("/readyz")).starts_with("HTTP/1.1 200 "));
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]disk ok, degraded: the disk is nearly full, so this node leads only if "
                        "no other can\n"));
}

// It named the disk, which had all the space that there is.
TEST_F(RoutesTest, ALeaderThatRefusesPutsForEtcdNamesEtcd) {
  health().accepts_puts = false;
  cluster_ = {.is_node = true, .leads = true, .leader = "a"};
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]disk ok, degraded: puts are refused, since the database of etcd is "
                        "nearly full"));
  cluster_.has_space = false;
  EXPECT_THAT(ask(get("/readyz?verbose")),
              HasSubstr("[+]disk ok, degraded: puts are refused, since the disk is nearly full\n"));
}

// It does not leave: nobody else could append either.
TEST_F(RoutesTest, ALeaderWhoseEntriesEtcdDoesNotTakeIsNotReady) {
  cluster_ = {.is_node = true, .leads = true, .append_failure = "no space", .leader = "a"};
  EXPECT_THAT(ask(get("/readyz")), HasSubstr("[-]cluster the leader, and etcd takes no entry of "
                                             "its log: no space; see cluster.etcd in the log\n"));
  EXPECT_TRUE(ask(get("/readyz")).starts_with("HTTP/1.1 503 "));
  EXPECT_TRUE(ask(get("/livez")).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask(get("/leader")).starts_with("HTTP/1.1 200 "));
  cluster_.append_failure.clear();
  EXPECT_TRUE(ask(get("/readyz")).starts_with("HTTP/1.1 200 "));
}

// The console asks for these two, and has something to show then.
TEST_F(RoutesTest, SaysWhatItIsBeforeTheJobsAreLoaded) {
  using nlohmann::json;
  EXPECT_EQ(get_from("/api/v1/node").json(), json({{"state", "serving"}, {"cluster", nullptr}}));
  is_loaded_ = false;
  EXPECT_EQ(get_from("/api/v1/node").json(), json({{"state", "loading"}, {"cluster", nullptr}}));
  const json session = get_from("/api/v1/session?with=server").json();
  EXPECT_EQ(session["serves"], false);
  EXPECT_FALSE(session.contains("server"));

  cluster_ = {.is_node = true, .name = "orders", .node = "b", .forwards = true};
  cluster_facts_ =
      ClusterFacts{.epoch = 4, .newest = 30, .applied = 29, .flushed = 20, .forwarded = 3};
  json told = get_from("/api/v1/node").json();
  EXPECT_EQ(told["state"], "standby");
  EXPECT_EQ(told["cluster"]["leader"], nullptr);
  cluster_.leader = "a";
  cluster_.leader_address = "10.0.0.1:11300";
  told = get_from("/api/v1/node").json();
  EXPECT_EQ(told["cluster"]["leader"]["url"], nullptr);
  cluster_.leader_url = "http://10.0.0.1:11380/";
  told = get_from("/api/v1/node").json();
  const json leader = {
      {"node", "a"}, {"client_address", "10.0.0.1:11300"}, {"url", "http://10.0.0.1:11380/"}};
  const json log = {
      {"epoch", 4}, {"read", 30}, {"applied", 29}, {"flushed", 20}, {"forwarded_connections", 3}};
  EXPECT_EQ(told["cluster"], json({{"name", "orders"},
                                   {"node", "b"},
                                   {"leader", leader},
                                   {"forwards", true},
                                   {"log", log}}));
  // It was elected, and loads what it has applied.
  cluster_.is_elected = true;
  EXPECT_EQ(get_from("/api/v1/node").json()["state"], "loading");
}

TEST_F(RoutesTest, KnowsItsPathsAndMethods) {
  EXPECT_TRUE(ask(get("/nothing")).starts_with("HTTP/1.1 404 "));
  EXPECT_EQ(route(), "none");
  EXPECT_TRUE(ask(get("/livez/")).starts_with("HTTP/1.1 404 "));
  const std::string other =
      ask("POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(other.starts_with("HTTP/1.1 405 "));
  EXPECT_THAT(other, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_TRUE(
      ask("OPTIONS /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").starts_with("HTTP/1.1 405"));
  EXPECT_TRUE(ask("HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n").ends_with("\r\n\r\n"));
  const std::string page = ask("PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(page.starts_with("HTTP/1.1 405 ")) << page;
  EXPECT_THAT(page, HasSubstr("Allow: GET, HEAD\r\n"));
  const std::string api =
      ask("PUT /api/v1/tubes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(api, HasSubstr("Allow: GET, HEAD\r\n"));
}

// T6.
TEST_F(RoutesTest, AnswersNodesBeforeTheJobsAreLoaded) {
  is_loaded_ = false;
  EXPECT_TRUE(ask(get("/cluster/checkpoint")).ends_with("\r\n\r\na copy"));
  EXPECT_TRUE(ask(get("/cluster/other")).starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(ask("HEAD /cluster/checkpoint HTTP/1.1\r\nHost: localhost\r\n\r\n")
                  .starts_with("HTTP/1.1 405 "));
}

TEST_F(RoutesTest, IsCalledByItsOwnNames) {
  for (const char* good : {"localhost", "localhost:11380", "127.0.0.1:1", "[::1]", "[::1]:11380",
                           "queue.test:11380"}) {
    const std::string out = ask(get("/livez", std::string("Host: ") + good + "\r\n"));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 200 ")) << good;
  }
  for (const char* bad : {"evil.test", "evil.test:11380", "[::1].evil", "localhost.",
                          "127.0.0.1.evil", "localhost@evil.test", ""}) {
    const std::string out = ask(get("/metrics", std::string("Host: ") + bad + "\r\n"));
    EXPECT_TRUE(out.starts_with("HTTP/1.1 421 ")) << bad;
    EXPECT_EQ(route(), "none");
  }
}

TEST_F(RoutesTest, GivesMetrics) {
  harness_.send(harness_.open(), "use mail\r\nput 7 0 10 1\r\na\r\nput 2000 0 10 1\r\na\r\n");
  const std::string out = ask(get("/metrics"));
  EXPECT_THAT(out, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  for (const char* line :
       {"# TYPE perennial_build_info gauge\nperennial_build_info{version=\"1.2.3\",",
        "# TYPE perennial_jobs gauge\nperennial_jobs{state=\"ready\"} 2\n",
        "perennial_urgent_jobs 1\n",
        "# TYPE perennial_jobs_put_total counter\nperennial_jobs_put_total 2\n",
        "perennial_commands_total{command=\"put\"} 2\n", "perennial_connections{role=\"all\"} 1\n",
        "perennial_http_requests_total{route=\"/livez\",code=\"200\"} 7\n",
        "perennial_tube_jobs{tube=\"mail\",state=\"ready\"} 2\n",
        "perennial_tube_puts_total{tube=\"mail\"} 2\n", "perennial_store_state{state=\"ok\"} 1\n",
        "perennial_puts_accepted 1\n"}) {
    EXPECT_THAT(out, HasSubstr(line));
  }
  EXPECT_THAT(out, Not(HasSubstr("# EOF")));
}

TEST_F(RoutesTest, GivesTheTubesThatAreAskedFor) {
  harness_.send(harness_.open(),
                "use mail-1\r\nput 7 0 10 1\r\na\r\nuse mail-2\r\nput 7 0 10 1\r\na\r\n");
  const std::string out = ask(get("/metrics/tubes?match=mail-*&limit=1"));
  EXPECT_EQ(route(), "/metrics/tubes");
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"mail-1\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("puts_total{tube=\"{other}\"} 1\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 1\n"));
  EXPECT_THAT(ask(get("/metrics/tubes")), HasSubstr("puts_total{tube=\"default\"} 0\n"));
  for (const std::string& query :
       {std::string("limit=x"), std::string("limit=10001"), std::string("limit="),
        std::string("limit=-1"), "match=" + std::string(201, 'a')}) {
    EXPECT_TRUE(ask(get("/metrics/tubes?" + query)).starts_with("HTTP/1.1 400 ")) << query;
  }
}

TEST_F(RoutesTest, GivesOpenMetricsWhereThatIsAskedFor) {
  const std::string out = ask(
      get("/metrics", "Host: localhost\r\nAccept: application/openmetrics-text;version=1.0.0\r\n"));
  EXPECT_THAT(out, HasSubstr("Content-Type: application/openmetrics-text; version=1.0.0"));
  EXPECT_THAT(out, HasSubstr("# TYPE perennial_jobs_put counter\nperennial_jobs_put_total 0\n"));
  EXPECT_THAT(out, HasSubstr("# UNIT perennial_uptime_seconds seconds\n"));
  EXPECT_TRUE(out.ends_with("# EOF\n"));
}

TEST_F(RoutesTest, GivesTheNamesOfTheOldExporter) {
  const std::string out = ask(get("/metrics?names=beanstalkd"));
  EXPECT_THAT(out, HasSubstr("# TYPE current_jobs_ready gauge\ncurrent_jobs_ready 0\n"));
  EXPECT_THAT(out, HasSubstr("cmd_put 0\n"));
  EXPECT_THAT(out, Not(HasSubstr("hostname")));
}

// A thousand tubes have series of their own, and no step looks at more than 100.
TEST_F(RoutesTest, SumsUpTubesThatAreTooMany) {
  for (int i = 0; i < 1500; ++i) speak(fmt::format("use t{}\r\nput 1 0 10 1\r\na\r\n", i));
  const std::string out = ask(get("/metrics"));
  EXPECT_GT(steps(), 15);
  EXPECT_THAT(out, HasSubstr("perennial_tubes_unlisted 501\n"));  // And default.
  EXPECT_THAT(out, HasSubstr("perennial_tube_puts_total{tube=\"{other}\"} 501\n"));
  EXPECT_THAT(out, HasSubstr("perennial_tube_puts_total{tube=\"t0\"} 1\n"));
  EXPECT_THAT(out, Not(HasSubstr("{tube=\"t1499\"}")));
}

// ---- The console.

TEST_F(RoutesTest, ShowsThePageForEveryPathOfAScreen) {
  if (console::assets().empty()) GTEST_SKIP() << "built without the console: npm, esbuild";
  const std::string html = "Host: localhost\r\nAccept: text/html\r\n";
  for (const char* path : {"/", "/tubes", "/tubes/mail/buried?cursor=1", "/index.html"}) {
    const Got page = got(get(path, html));
    EXPECT_EQ(page.status, 200u) << path;
    EXPECT_THAT(page.fields.at("content-type"), HasSubstr("text/html"));
    EXPECT_EQ(page.fields.at("cache-control"), "no-cache");
    EXPECT_THAT(page.fields.at("content-security-policy"),
                HasSubstr("require-trusted-types-for 'script'"));
    EXPECT_THAT(page.fields.at("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
  }
  EXPECT_EQ(got(get("/tubes")).status, 404u);  // No browser asks so.
  EXPECT_EQ(got(get("/api/v1/tubes/none", html)).fields.at("content-type"),
            "application/problem+json");
  EXPECT_THAT(got(get("/metrics", html)).fields.at("content-type"), HasSubstr("text/plain"));
}

TEST_F(RoutesTest, LetsABrowserKeepTheFiles) {
  if (console::assets().empty()) GTEST_SKIP() << "built without the console: npm, esbuild";
  for (const console::Asset& asset : console::assets()) {
    const std::string path(asset.path);
    const Got plain = got(get(path));
    EXPECT_EQ(plain.body, asset.plain) << path;
    EXPECT_EQ(plain.fields.at("vary"), "Accept-Encoding");
    const Got packed = got(get(path, "Host: localhost\r\nAccept-Encoding: br, gzip\r\n"));
    EXPECT_EQ(packed.body, asset.gzipped) << path;
    EXPECT_EQ(packed.fields.at("content-encoding"), "gzip");
    EXPECT_NE(packed.fields.at("etag"), plain.fields.at("etag"));
    EXPECT_EQ(asset.immutable,
              plain.fields.at("cache-control") == "public, max-age=31536000, immutable");
    const Got same =
        got(get(path, "Host: localhost\r\nIf-None-Match: " + plain.fields.at("etag") + "\r\n"));
    EXPECT_EQ(same.status, 304u);
    EXPECT_EQ(same.body, "");
    EXPECT_FALSE(same.fields.contains("content-length"));
    const Got refused =
        got(get(path, "Host: localhost\r\nAccept-Encoding: gzip;q=0, identity\r\n"));
    EXPECT_EQ(refused.body, asset.plain);
  }
}

}  // namespace
}  // namespace perennial::http
