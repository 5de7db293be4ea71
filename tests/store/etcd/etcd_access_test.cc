// Several members, users and certificates.
#include <algorithm>

#include <gtest/gtest.h>
#include <signal.h>

#include "store/etcd/grpc_client.h"
#include "tests/store/etcd/etcd_process.h"
#include "tests/store/etcd/session.h"
#include "tests/support/certificates.h"

namespace perennial::store::etcd {
namespace {

class EtcdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!etcd_is_present()) GTEST_SKIP() << "skipped: etcd is not unpacked (tests/run does it)";
  }
};
using Failover = EtcdTest;
using Users = EtcdTest;
using Certificates = EtcdTest;

GrpcClientOptions options_of(const EtcdCluster& etcd) {
  GrpcClientOptions options;
  options.endpoints = etcd.endpoints();
  return options;
}

// As callers do: again after a while, as long as the outcome is unknown.
void put_until_done(Session& session, const std::string& value) {
  Session::wait_for([&] {
    const std::string result = result_of(session.put("a", value, 0, nanos_per_second));
    EXPECT_TRUE(result == "ok" || result == "unknown") << result;
    return result == "ok";
  });
}

TEST_F(Failover, CallsGoOnWithAnotherMemberAndAWatchWithoutALeaderEnds) {
  EtcdCluster etcd(3);
  // While a leader is elected, a client turns from member to member.
  Session(etcd.endpoints()).wait_until_ready();
  Session session(etcd.endpoints());
  EXPECT_EQ(result_of(session.get({.range = {.key = "a"}})), "ok");
  etcd.signal(0, SIGSTOP);
  EXPECT_EQ(result_of(session.get({.range = {.key = "a"}}, nanos_per_second)), "unknown");
  put_until_done(session, "1");
  EXPECT_EQ(result_of(session.status(0, 200 * nanos_per_ms)), "unknown");
  EXPECT_EQ(result_of(session.status(1)), "ok");
  etcd.signal(0, SIGCONT);
  etcd.kill_now(1);
  put_until_done(session, "2");
  EXPECT_EQ(result_of(session.status(1)), "unknown");
  Session::wait_for([&] { return result_of(session.status(0)) == "ok"; });

  // One member of three is left, and does not answer as if it were all.
  Session last({etcd.endpoints()[2]});
  Reports reports;
  last.run([&] { last.client().watch({.key = "a"}, 1, reports.handler()); });
  reports.wait_for_events(2);
  etcd.kill_now(0);
  EXPECT_NE(reports.wait_for_end().message.find("no leader"), std::string::npos);
  EXPECT_EQ(result_of(last.put("a", "3", 0, nanos_per_second)), "unknown");
}

TEST_F(Failover, CallsGoToThePreferredMemberUntilOneFails) {
  constexpr Nanos within = 300 * nanos_per_ms;
  EtcdCluster etcd(3);
  Session(etcd.endpoints()).wait_until_ready();
  Session session(etcd.endpoints());
  session.run([&] { session.client().prefer(2); });
  etcd.signal(2, SIGSTOP);
  const auto outcome = session.get({.range = {.key = "a"}}, within);
  ASSERT_EQ(result_of(outcome), "unknown");
  EXPECT_TRUE(std::get<Failure>(outcome).message.starts_with(etcd.endpoints()[2]))
      << std::get<Failure>(outcome).message;
  put_until_done(session, "1");  // By another member.
  etcd.signal(2, SIGCONT);
}

TEST_F(Users, ATokenIsGotAndGotAgain) {
  EtcdCluster etcd(1);
  Session before(options_of(etcd));
  before.wait_until_ready();
  GrpcClientOptions named = options_of(etcd);
  named.user = "worker";
  named.password = "secret";
  Session worker(named);
  // Authentication is switched off.
  EXPECT_EQ(result_of(worker.put("jobs/a", "1")), "ok");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"user", "add", "root:root"},
           {"user", "grant-role", "root", "root"},
           {"role", "add", "jobs"},
           {"role", "grant-permission", "jobs", "--prefix=true", "readwrite", "jobs/"},
           {"user", "add", "worker:secret"},
           {"user", "grant-role", "worker", "jobs"},
           {"auth", "enable"}})
    ASSERT_TRUE(etcd.control(command)) << command[1] << etcd.log();
  EXPECT_EQ(result_of(before.put("jobs/a", "2")), "denied");
  EXPECT_EQ(result_of(worker.put("jobs/a", "2")), "unknown");  // It had no token.
  EXPECT_EQ(result_of(worker.put("jobs/a", "3")), "ok");
  EXPECT_EQ(result_of(worker.put("other", "1")), "denied");
  EXPECT_EQ(result_of(worker.status(0)), "ok");
  named.password = "wrong";
  Session wrong(named);
  EXPECT_EQ(result_of(wrong.put("jobs/a", "4")), "denied");

  Reports denied;
  worker.run([&] { worker.client().watch({.key = "other"}, 1, denied.handler()); });
  EXPECT_NE(denied.wait_for_end().message.find("permission denied"), std::string::npos);
  Reports allowed;
  worker.run([&] { worker.client().watch(keys_with_prefix("jobs/"), 1, allowed.handler()); });
  EXPECT_EQ(allowed.wait_for_events(2).back().events.back().key.value, "3");

  // etcd forgets its tokens when it starts.
  etcd.kill_now(0);
  etcd.start(0);
  Session::wait_for([&] { return result_of(worker.status(0, nanos_per_second)) == "ok"; });
  Session::wait_for([&] {
    const std::string result = result_of(worker.put("jobs/a", "5"));
    EXPECT_TRUE(result == "ok" || result == "unknown") << result;
    return result == "ok";
  });
}

TEST_F(Certificates, BothSidesShowWhoTheyAre) {
  support::TempDir dir;
  support::Authority authority;
  support::Authority other_authority("another CA");
  const auto write = [&](const std::string& name, const std::string& content) {
    support::write_file(dir.path() + "/" + name, content);
    return dir.path() + "/" + name;
  };
  const support::Certificate server =
      authority.issue({.common_name = "server", .ips = {"127.0.0.1"}});
  const support::Certificate own = authority.issue({.common_name = "node"});
  const std::string ca = write("ca", authority.certificate());
  EtcdCluster etcd(1,
                   {"--cert-file=" + write("server", server.certificate),
                    "--key-file=" + write("server.key", server.key), "--client-cert-auth",
                    "--trusted-ca-file=" + ca},
                   "https");
  GrpcClientOptions options = options_of(etcd);
  options.ca_file = ca;
  options.certificate_file = write("own", own.certificate);
  options.key_file = write("own.key", own.key);
  Session session(options);
  session.wait_until_ready();
  EXPECT_EQ(result_of(session.put("a", "1")), "ok");

  GrpcClientOptions trusts_another = options;
  trusts_another.ca_file = write("other_authority", other_authority.certificate());
  EXPECT_EQ(result_of(Session(trusts_another).put("a", "1", 0, nanos_per_second)), "unknown");
  GrpcClientOptions shows_none = options;
  shows_none.certificate_file = shows_none.key_file = "";
  EXPECT_EQ(result_of(Session(shows_none).put("a", "1", 0, nanos_per_second)), "unknown");
}

TEST(GrpcClientOptions, MistakesAreRefused) {
  GrpcExecutor executor;
  const auto refused = [&](const GrpcClientOptions& options) {
    const auto opened = open_grpc_client(executor, options);
    return opened.ok() ? StatusCode::Ok : opened.status().code();
  };
  GrpcClientOptions options;
  EXPECT_EQ(refused(options), StatusCode::InvalidArgument);
  for (const char* endpoint :
       {"127.0.0.1:2379", "http://", "http://host", "http://:1", "http://host:", "http://host:port",
        "http://host:1/path", "ftp://host:1"}) {
    options.endpoints = {"http://127.0.0.1:2379", endpoint};
    EXPECT_EQ(refused(options), StatusCode::InvalidArgument) << endpoint;
  }
  options.endpoints = {"http://127.0.0.1:2379/", "https://[::1]:2379", "http://host:1"};
  EXPECT_EQ(refused(options), StatusCode::Ok);
  options.ca_file = "/nonexistent/ca";
  EXPECT_EQ(refused(options), StatusCode::Io);
  options.ca_file = "";
  options.key_file = "/dev/null";
  EXPECT_EQ(refused(options), StatusCode::InvalidArgument);
}

}  // namespace
}  // namespace perennial::store::etcd
