// A token goes only where nobody on the way can read it: the program keeps it back before anything
// is sent.

#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cmd/perennial/tool_process.h"

namespace perennial::tool {
namespace {

using support::ToolRun;
using testing::HasSubstr;

// One of this machine's addresses that is not the loopback's, or nothing.
std::string other_address() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return {};
  std::string found;
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    const in_addr address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr;
    if (ntohl(address.s_addr) >> 24 == 127) continue;
    char text[INET_ADDRSTRLEN] = {};
    ::inet_ntop(AF_INET, &address, text, sizeof text);
    found = text;
  }
  ::freeifaddrs(all);
  return found;
}

// Whoever answers there: it takes one connection, keeps what it hears, and answers once.
class FalseServer {
 public:
  explicit FalseServer(const std::string& host, std::string answer = {})
      : listener_(::socket(AF_INET, SOCK_STREAM, 0)), answer_(std::move(answer)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, host.c_str(), &address.sin_addr);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(listener_, any, size), 0);
    EXPECT_EQ(::listen(listener_, 1), 0);
    EXPECT_EQ(::getsockname(listener_, any, &size), 0);
    address_ = fmt::format("{}:{}", host, ntohs(address.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~FalseServer() {
    if (thread_.joinable()) heard();
    ::close(listener_);
  }
  const std::string& address() const { return address_; }
  std::string heard() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    return heard_;
  }

 private:
  void serve() {
    const int client = ::accept(listener_, nullptr, nullptr);
    if (client < 0) return;
    char bytes[1024];
    const ssize_t count = ::recv(client, bytes, sizeof bytes, 0);
    if (count > 0) heard_.assign(bytes, static_cast<size_t>(count));
    ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
    ::close(client);
  }

  const int listener_;
  const std::string answer_;
  std::string address_;
  std::string heard_;
  std::thread thread_;
};

constexpr const char* token = "prn_k7_SSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSSx";

class TokenWay : public testing::Test {
 protected:
  void SetUp() override { ::setenv("PERENNIAL_TOKEN", token, 1); }
  void TearDown() override { ::unsetenv("PERENNIAL_TOKEN"); }
};

TEST_F(TokenWay, NotToAnotherMachineWithoutTls) {
  const std::string host = other_address();
  if (host.empty()) GTEST_SKIP() << "this machine has only its loopback address";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"stats"}, {"put", "hello"}, {"bench", "--seconds", "1"}}) {
    FalseServer server(host);
    std::vector<std::string> line = command;
    line.insert(line.end(), {"--server", server.address()});
    const ToolRun refused = support::run_tool(line);
    EXPECT_EQ(refused.code, 2) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr("--insecure-token"));
    EXPECT_EQ(server.heard(), "") << command[0];
  }
}

TEST_F(TokenWay, OnlyIfItIsAskedFor) {
  const std::string host = other_address();
  if (host.empty()) GTEST_SKIP() << "this machine has only its loopback address";
  FalseServer server(host);
  support::run_tool({"stats", "--insecure-token", "--server", server.address()});
  EXPECT_EQ(server.heard(), fmt::format("auth {}\r\n", token));
}

TEST_F(TokenWay, ToTheLoopbackAddress) {
  FalseServer server("127.0.0.1");
  support::run_tool({"stats", "--server", server.address()});
  EXPECT_EQ(server.heard(), fmt::format("auth {}\r\n", token));
}

// Where jobs are moved to is another server, which may be a beanstalkd.
TEST_F(TokenWay, NotToTheTargetOfAnExport) {
  FalseServer source("127.0.0.1", "AUTHENTICATED\r\n");
  FalseServer target("127.0.0.1");
  support::run_tool({"export-beanstalkd", "--server", source.address(), "--to", target.address()});
  EXPECT_EQ(source.heard(), fmt::format("auth {}\r\n", token));
  EXPECT_EQ(target.heard(), "");
}

}  // namespace
}  // namespace perennial::tool
