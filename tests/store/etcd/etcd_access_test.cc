// Several members, users and certificates.
#include <algorithm>
#include <filesystem>
#include <mutex>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "store/etcd/grpc_client.h"
#include "tests/store/etcd/etcd_process.h"
#include "tests/store/etcd/session.h"
#include "tests/support/certificates.h"
#include "tests/support/server_process.h"

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
using Options = EtcdTest;

constexpr Nanos reread_interval = 50 * nanos_per_ms;

// What a client has said of its options and passwords, for the thread of a test.
class Said {
 public:
  GrpcClientEvents events() {
    return {
        .options_used = [this] { add("options used"); },
        .options_refused = [this](const std::string& why) { add("options refused: " + why); },
        .password_used = [this] { add("password used"); },
        .password_refused = [this](const std::string& why) { add("password refused: " + why); }};
  }
  size_t count(const std::string& text) {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(
        said_, [&](const std::string& each) { return each.find(text) != std::string::npos; }));
  }
  void wait_for(const std::string& text, size_t times = 1) {
    Session::wait_for([&] { return count(text) >= times; });
  }

 private:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    said_.push_back(std::move(text));
  }
  std::mutex mutex_;
  std::vector<std::string> said_;
};

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

// etcdctl would ask for a password at a terminal. A user that is made anew loses its tokens, too.
void change_password(const EtcdCluster& etcd, const std::string& password) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"user", "delete", "worker"},
                                             {"user", "add", "worker:" + password},
                                             {"user", "grant-role", "worker", "root"}}) {
    std::vector<std::string> words = {"--user=root:root"};
    words.insert(words.end(), command.begin(), command.end());
    ASSERT_TRUE(etcd.control(words)) << command[1] << etcd.log();
  }
}

TEST_F(Users, APasswordIsReplacedInEitherOrder) {
  EtcdCluster etcd(1);
  Session(options_of(etcd)).wait_until_ready();
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"user", "add", "root:root"},
                                             {"user", "grant-role", "root", "root"},
                                             {"user", "add", "worker:first"},
                                             {"user", "grant-role", "worker", "root"},
                                             {"auth", "enable"}})
    ASSERT_TRUE(etcd.control(command)) << command[1] << etcd.log();
  support::TempDir dir;
  GrpcClientOptions options = options_of(etcd);
  options.user = "worker";
  options.password_file = dir.path() + "/password";
  support::write_file(options.password_file, "first\n");
  Said said;
  Session worker(options, said.events());
  put_until_done(worker, "1");
  Reports reports;
  worker.run([&] { worker.client().watch({.key = "a"}, 1, reports.handler()); });
  reports.wait_for_events(1);

  const auto put = [&](const std::string& value) {
    Session::wait_for([&] { return result_of(worker.put("a", value)) == "ok"; });
  };
  // The file is ahead, and the token ends.
  support::write_file(options.password_file, "second\n");
  change_password(etcd, "first");
  put("2");
  EXPECT_EQ(said.count("password refused"), 1U);
  EXPECT_EQ(said.count("password used"), 0U);
  change_password(etcd, "second");
  put("3");
  EXPECT_EQ(said.count("password used"), 1U);

  // etcd is ahead.
  change_password(etcd, "third");
  Session::wait_for([&] { return result_of(worker.put("a", "4")) == "denied"; });
  EXPECT_EQ(said.count("password refused"), 2U);
  EXPECT_EQ(result_of(worker.put("a", "4")), "denied");
  support::write_file(options.password_file, "third\n");
  put("4");
  EXPECT_EQ(said.count("password used"), 2U);
  EXPECT_EQ(said.count("password refused"), 2U);
}

TEST_F(Certificates, AreReplacedWhileTheClientRuns) {
  support::TempDir dir;
  support::Authority first;
  support::Authority second("another CA");
  const auto write = [&](const std::string& name, const std::string& content) {
    support::write_file(dir.path() + "/" + name, content);
    return dir.path() + "/" + name;
  };
  const support::Certificate server = first.issue({.common_name = "server", .ips = {"127.0.0.1"}});
  const support::Certificate own = first.issue({.common_name = "node"});
  const support::Certificate next = second.issue({.common_name = "node"});
  write("ca", first.certificate() + second.certificate());
  EtcdCluster etcd(1,
                   {"--cert-file=" + write("server", server.certificate),
                    "--key-file=" + write("server.key", server.key), "--client-cert-auth",
                    "--trusted-ca-file=" + dir.path() + "/ca"},
                   "https");
  GrpcClientOptions options = options_of(etcd);
  options.ca_file = write("client_ca", first.certificate());
  options.certificate_file = write("own", own.certificate);
  options.key_file = write("own.key", own.key);
  options.reread_interval = reread_interval;
  options.check_files = [&] {
    const bool is_whole = std::filesystem::file_size(options.key_file) >= own.key.size();
    return is_whole ? Status() : Status(StatusCode::InvalidArgument, "half of a key");
  };
  Said said;
  Session session(options, said.events());
  session.wait_until_ready();
  Reports reports;
  session.run([&] { session.client().watch({.key = "a"}, 1, reports.handler()); });
  EXPECT_EQ(result_of(session.put("a", "1")), "ok");

  write("own.key", next.key.substr(0, next.key.size() / 2));
  said.wait_for("options refused: half of a key");
  EXPECT_EQ(result_of(session.put("a", "2")), "ok");
  // Whole, and nobody trusts it.
  const support::Certificate unknown = support::self_signed({.common_name = "node"});
  write("own", unknown.certificate);
  write("own.key", unknown.key);
  said.wait_for("options refused: no member of etcd answers");
  EXPECT_EQ(result_of(session.put("a", "3")), "ok");
  EXPECT_EQ(said.count("options used"), 0U);

  write("own", next.certificate);
  write("own.key", next.key);
  said.wait_for("options used");
  EXPECT_EQ(result_of(session.put("a", "4")), "ok");
  // The watch has seen all of it, on the connection that it had.
  EXPECT_EQ(reports.wait_for_events(4).back().events.back().key.value, "4");
  // Connections of now show the new certificate: the authority of the other is not trusted any
  // more.
  write("ca", second.certificate());
  etcd.kill_now(0);
  etcd.start(0);
  put_until_done(session, "5");
  EXPECT_EQ(said.count("options used"), 1U);
}

TEST_F(Options, EndpointsChangeToOtherMembersOfTheSameCluster) {
  EtcdCluster etcd(3);
  EtcdCluster other(1);
  Session(etcd.endpoints()).wait_until_ready();
  Session(other.endpoints()).wait_until_ready();
  GrpcClientOptions options;
  options.reread_interval = reread_interval;
  options.endpoints = {etcd.endpoints()[0]};
  Said said;
  Session session(options, said.events());
  const auto change = [&](std::vector<std::string> endpoints) {
    options.endpoints = std::move(endpoints);
    session.run([&] { session.client().reconfigure(options); });
  };
  EXPECT_EQ(result_of(session.put("a", "1")), "ok");
  const auto lease = session.grant(5);
  ASSERT_EQ(result_of(lease), "ok");

  change({other.endpoints()[0]});
  said.wait_for("is a member of another etcd cluster");
  const std::string nobody = fmt::format("http://127.0.0.1:{}", support::pick_port());
  change({nobody});
  said.wait_for("options refused: no member of etcd answers: " + nobody);
  EXPECT_EQ(result_of(session.put("a", "2")), "ok");
  EXPECT_EQ(said.count("options used"), 0U);

  change({nobody, etcd.endpoints()[1], etcd.endpoints()[2]});
  said.wait_for("options used");
  etcd.kill_now(0);
  put_until_done(session, "3");
  EXPECT_EQ(result_of(session.keep_alive(std::get<LeaseGranted>(lease).lease)), "ok");
  EXPECT_EQ(session.client().members(), 3U);
  session.run([&] { session.client().prefer(3); });  // A number of a longer list of before.
  EXPECT_EQ(result_of(session.put("a", "4")), "ok");
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
