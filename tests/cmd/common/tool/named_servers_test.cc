// Servers by their names in a file.

#include "cmd/common/tool/named_servers.h"

#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

using testing::HasSubstr;

class NamedServers : public testing::Test {
 protected:
  void write(const std::string& text) { std::ofstream(path_) << text; }
  Result<ServerAddress> resolve(const ServerAddress& server) {
    return resolve_server(server, path_);
  }
  // The message about "@prod" in a file with this text.
  std::string refusal(const std::string& text) {
    write(text);
    const Result<ServerAddress> found = resolve(ServerAddress("@prod"));
    EXPECT_EQ(found.status().code(), StatusCode::InvalidArgument);
    return found.status().message();
  }

  const support::TempDir dir_;
  const std::string path_ = dir_.path() + "/servers.yaml";
};

TEST_F(NamedServers, HaveAllThatReachesThem) {
  write(
      "dev:\n  server: unix:/run/dev.sock\n"
      "prod:\n"
      "  server: queue.example.com:11400\n"
      "  tls: true\n"
      "  ca: ca.pem\n"
      "  certificate: /etc/me.pem\n"
      "  key: ../me.key\n"
      "  token_file: ~/prod.token\n"
      "  insecure_token: no\n");
  const Result<ServerAddress> found = resolve(ServerAddress("@prod"));
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->address, "queue.example.com:11400");
  EXPECT_TRUE(found->tls.is_on);
  EXPECT_EQ(found->tls.ca, dir_.path() + "/ca.pem");
  EXPECT_EQ(found->tls.certificate, "/etc/me.pem");
  EXPECT_EQ(found->tls.key, dir_.path() + "/../me.key");
  EXPECT_EQ(found->token_file, std::string(std::getenv("HOME")) + "/prod.token");
  EXPECT_FALSE(found->insecure_token);
  EXPECT_EQ(resolve(ServerAddress("@dev"))->address, "unix:/run/dev.sock");
}

TEST_F(NamedServers, GiveWayToFlags) {
  write("prod:\n  server: a:1\n  ca: ca.pem\n  token_file: prod.token\n");
  ServerAddress flags("@prod");
  flags.tls.is_on = true;
  flags.tls.ca = "mine.pem";
  flags.gets_token = false;
  const Result<ServerAddress> found = resolve(flags);
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_TRUE(found->tls.is_on);
  EXPECT_EQ(found->tls.ca, "mine.pem");
  EXPECT_EQ(found->token_file, dir_.path() + "/prod.token");
  EXPECT_FALSE(found->gets_token);
}

TEST_F(NamedServers, AreNotAskedForAnAddress) {
  EXPECT_EQ(resolve(ServerAddress("127.0.0.1:1"))->address, "127.0.0.1:1");
}

TEST_F(NamedServers, AFileThatIsWrongIsRefusedWithItsLine) {
  EXPECT_THAT(resolve(ServerAddress("@prod")).status().message(), HasSubstr("there is no file"));
  EXPECT_THAT(refusal("prdo:\n  server: a:1\n"), HasSubstr("has no server 'prod'; did you mean"));
  EXPECT_THAT(refusal("prod:\n  server: a:1\n  tsl: true\n"),
              HasSubstr("servers.yaml:3: there is no key 'tsl'; did you mean 'tls'?"));
  EXPECT_THAT(refusal("prod:\n  tls: true\n"), HasSubstr("has no key 'server'"));
  EXPECT_THAT(refusal("prod:\n  server: @dev\n"), HasSubstr("servers.yaml:2: "));
  EXPECT_THAT(refusal("prod:\n  server: '@dev'\n"), HasSubstr("and not another name"));
  EXPECT_THAT(refusal("prod:\n  server: a:1\n  tls: perhaps\n"), HasSubstr("tls: true or false"));
  EXPECT_THAT(refusal("prod:\n  server: [a]\n"), HasSubstr("servers.yaml:2: server is not one"));
  EXPECT_THAT(refusal("prod: a:1\n"), HasSubstr("'prod' has no keys"));
  EXPECT_THAT(refusal("prod:\n  server: a:1\nprod:\n  server: b:1\n"),
              HasSubstr("servers.yaml:3: 'prod' is there twice"));
  EXPECT_THAT(refusal("prod:\n  server: a:1\n  server: b:1\n"),
              HasSubstr("servers.yaml:3: server: set twice"));
  EXPECT_THAT(refusal("- prod\n"), HasSubstr("has no names of servers"));
  EXPECT_THAT(refusal(""), HasSubstr("has no names of servers"));
  EXPECT_THAT(refusal("prod: {\n"), HasSubstr("servers.yaml:2: "));
}

TEST_F(NamedServers, AFileThatOthersMayWriteIsRefused) {
  write("prod:\n  server: a:1\n");
  ASSERT_EQ(::chmod(path_.c_str(), 0622), 0);
  EXPECT_THAT(resolve(ServerAddress("@prod")).status().message(), HasSubstr("chmod go-w"));
  const Result<ServerAddress> folder = resolve_server(ServerAddress("@prod"), dir_.path());
  EXPECT_THAT(folder.status().message(), HasSubstr("is not a file"));
}

}  // namespace
}  // namespace perennial::tool
