// Checkpoints of a real server: who may ask, what they hold, and what they do to other clients.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>

#include "tests/cmd/perenniald/program/checkpoint_support.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr const char* put_one = "put 0 0 60 5\r\nhello\r\n";

TEST(Checkpoint, UnderLoadItHoldsWhatWasAnsweredBeforeAndWhatItsManifestSays) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> asked = 0;
  std::atomic<uint64_t> answered = 0;
  std::vector<std::thread> producers;
  for (int i = 0; i < 20; ++i) {
    producers.emplace_back([&, client = server.connect()]() mutable {
      while (!stop) {
        ++asked;
        if (!client.ask(put_one).ok()) return;
        ++answered;
      }
    });
  }
  ClientSocket client = server.connect();
  std::vector<CheckpointAnswer> answers;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = answered;
    answers.push_back(ask_checkpoint(client));
    EXPECT_GE(answers.back().jobs, before);
    EXPECT_LE(answers.back().jobs, asked);
  }
  stop = true;
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(answered, asked) << "every producer was served to its end";
  for (const CheckpointAnswer& answer : answers) {
    ASSERT_TRUE(answer.ok) << answer.text;
    const Result<store::CheckpointManifest> manifest = store::verify_checkpoint(answer.path);
    ASSERT_TRUE(manifest.ok()) << manifest.status().message();
    EXPECT_EQ(manifest->name, answer.name);
    EXPECT_EQ(manifest->commit.index, answer.commit);
    EXPECT_EQ(manifest->jobs.ready, answer.jobs);
  }
  EXPECT_LT(answers[0].jobs, answers[3].jobs);
  const std::string line = fmt::format("at=checkpoint name={} commit={} jobs={}", answers[0].name,
                                       answers[0].commit, answers[0].jobs);
  EXPECT_THAT(log_with(server, line), HasSubstr(line));
}

TEST(Checkpoint, TwoClientsThatAskAtOnceAreBothAnswered) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket a = server.connect();
  ClientSocket b = server.connect();
  ASSERT_TRUE(a.send("checkpoint\r\n").ok());
  ASSERT_TRUE(b.send(std::string(put_one) + "checkpoint\r\n").ok());
  EXPECT_EQ(b.read_reply().take(), "INSERTED 1\r\n");
  const auto first = parse_checkpoint_answer(a.read_reply(checkpoint_timeout_ms));
  const auto second = parse_checkpoint_answer(b.read_reply(checkpoint_timeout_ms));
  EXPECT_TRUE(first.ok) << first.text;
  EXPECT_TRUE(second.ok) << second.text;
  EXPECT_EQ(second.jobs, 1u);
  EXPECT_TRUE(store::verify_checkpoint(second.path).ok());
}

TEST(Checkpoint, DelaysLaterCommandsOfItsOwnConnectionOnly) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_TRUE(client.send(std::string("checkpoint\r\n") + put_one + "checkpoint now\r\n").ok());
  ClientSocket other = server.connect();
  EXPECT_EQ(other.ask("list-tube-used\r\n").take(), "USING default\r\n");
  EXPECT_THAT(client.read_reply(checkpoint_timeout_ms).take(), StartsWith("OK "));
  EXPECT_THAT(client.read_reply().take(), StartsWith("INSERTED "));
  EXPECT_EQ(client.read_reply().take(), "BAD_FORMAT\r\n");
}

TEST(Checkpoint, AClientThatLeavesStopsNothing) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  for (int i = 0; i < 3; ++i) {
    ClientSocket leaving = server.connect();
    ASSERT_TRUE(leaving.send("checkpoint\r\n").ok());
  }
  ClientSocket client = server.connect();
  const CheckpointAnswer answer = ask_checkpoint(client);
  EXPECT_TRUE(answer.ok) << answer.text;
  EXPECT_THAT(partial_in(server.data_dir() + "/checkpoints"), IsEmpty());
}

TEST(Checkpoint, ADrainingServerMakesOneForAClientOfAUnixSocket) {
  ServerProcess server({.unix_socket = true});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_EQ(client.ask(put_one).take(), "INSERTED 1\r\n");
  server.signal(SIGUSR1);
  while (stats_value(client, "draining") != "true") continue;
  const CheckpointAnswer answer = ask_checkpoint(client);
  EXPECT_TRUE(answer.ok) << answer.text;
  EXPECT_EQ(answer.jobs, 1u);
}

// An IPv4 address of this machine that other machines could reach, if it has one.
std::string outer_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::string found;
  for (const ifaddrs* each = list; each != nullptr && found.empty(); each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    char host[NI_MAXHOST];
    getnameinfo(each->ifa_addr, sizeof(sockaddr_in), host, sizeof host, nullptr, 0, NI_NUMERICHOST);
    if (!std::string(host).starts_with("127.")) found = host;
  }
  freeifaddrs(list);
  return found;
}

struct FromCase {
  std::string name;
  std::string setting;
  bool taken;
};
class FromTest : public testing::TestWithParam<FromCase> {};

// The listening socket has an outer address, so the client has one, too.
TEST_P(FromTest, AClientThatIsNotOnLoopback) {
  const std::string host = outer_address();
  if (host.empty()) GTEST_SKIP() << "this machine has loopback addresses alone";
  ServerProcess server({.flags = {"--config", "config", "-l", host + ":0"}});
  std::ofstream(server.dir() + "/config") << "checkpoint_from: " << GetParam().setting << "\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  // A client is answered after the addresses were logged. The latest line has the address that was
  // given last.
  ASSERT_TRUE(server.connect().ask("list-tube-used\r\n").ok());
  const std::string log = log_with(server, "address=" + host + ":");
  const size_t at = log.find("address=" + host + ":");
  ASSERT_NE(at, std::string::npos) << log;
  const std::string address = log.substr(at + 8, log.find('\n', at) - at - 8);
  Result<ClientSocket> client = ClientSocket::connect(address);
  ASSERT_TRUE(client.ok()) << client.status().message();
  ASSERT_EQ(client->ask(put_one).take(), "INSERTED 1\r\n");
  if (GetParam().taken) {
    EXPECT_TRUE(ask_checkpoint(*client).ok);
    EXPECT_EQ(client->ask("checkpoint x\r\n").take(), "BAD_FORMAT\r\n");
  } else {
    for (const char* line : {"checkpoint\r\n", "checkpoint x\r\n", "checkpoints\r\n", "chek\r\n"}) {
      EXPECT_EQ(client->ask(line).take(), "UNKNOWN_COMMAND\r\n") << line;
    }
    EXPECT_THAT(names_in(server.data_dir() + "/checkpoints"), IsEmpty());
  }
}

std::string case_name(const testing::TestParamInfo<FromCase>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Checkpoint, FromTest,
                         testing::Values(FromCase{"IsRefused", "local", false},
                                         FromCase{"IsTakenWhereAllAre", "any", true}),
                         case_name);

TEST(Checkpoint, AFailureIsReportedAndTheServerGoesOn) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  const std::string dir = server.data_dir() + "/checkpoints";
  std::filesystem::remove(dir);
  std::ofstream(dir) << "not a directory\n";
  EXPECT_THAT(ask_checkpoint(client).text,
              testing::AllOf(StartsWith("FAILED "), HasSubstr("Not a directory")));
  EXPECT_THAT(log_with(server, "at=checkpoint.failed"),
              HasSubstr("level=error at=checkpoint.failed"));
  ASSERT_EQ(client.ask(put_one).take(), "INSERTED 1\r\n");
  EXPECT_EQ(stats_value(client, "checkpoint-age"), "-1");
  std::filesystem::remove(dir);
  const CheckpointAnswer answer = ask_checkpoint(client);
  EXPECT_TRUE(answer.ok) << answer.text;
  EXPECT_EQ(answer.jobs, 1u);
}

}  // namespace
}  // namespace perennial::support
