#include "cmd/perenniald/net/sockets.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "tests/support/client_socket.h"
#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using testing::HasSubstr;

Result<std::vector<BoundSocket>> bind_at(const std::vector<std::string>& texts) {
  std::vector<common::Address> addresses;
  for (const std::string& text : texts) {
    Result<common::Address> address = common::parse_address(text, 0);
    CHECK(address.ok());
    addresses.push_back(address.take());
  }
  return bind_sockets(addresses, 0);
}

std::string error_at(const std::string& text) {
  const Result<std::vector<BoundSocket>> sockets = bind_at({text});
  return sockets.ok() ? "" : sockets.status().message();
}

bool exists(const std::string& path) {
  struct stat info {};
  return lstat(path.c_str(), &info) == 0;
}

TEST(Sockets, EveryAddressIsBoundAndNamed) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  Result<std::vector<BoundSocket>> sockets =
      bind_at({"127.0.0.1:0", "127.0.0.2:0", "unix:" + path});
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  ASSERT_EQ(sockets->size(), 3u);
  EXPECT_THAT((*sockets)[0].name(), testing::MatchesRegex("127\\.0\\.0\\.1:[1-9][0-9]*"));
  EXPECT_THAT((*sockets)[1].name(), testing::MatchesRegex("127\\.0\\.0\\.2:[1-9][0-9]*"));
  EXPECT_EQ((*sockets)[2].name(), "unix:" + path);
  for (BoundSocket& socket : *sockets) EXPECT_TRUE(socket.listen().ok());
}

TEST(Sockets, OnlyThisMachineReachesALoopbackAddress) {
  Result<std::vector<BoundSocket>> sockets = bind_at({"127.0.0.1:0", "0.0.0.0:0"});
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  for (BoundSocket& socket : *sockets) ASSERT_TRUE(socket.listen().ok());
  EXPECT_TRUE((*sockets)[0].is_local());
  EXPECT_FALSE((*sockets)[1].is_local());
}

// Without that, a probe at a node's own address was closed unanswered once in some thousands, while
// strangers took all places. Where a standby may hold a silent connection it would not be accepted.
TEST(Sockets, SilentClientsOfHttpAreNotAcceptedButWherePeersCome) {
  Result<std::vector<BoundSocket>> sockets =
      bind_at({"127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0", "0.0.0.0:0"});
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  for (size_t i = 1; i < sockets->size(); ++i) (*sockets)[i].set_role(ListenerRole::Http);
  const auto is_deferred = [](const BoundSocket& bound) {
    int seconds = 0;
    socklen_t length = sizeof seconds;
    CHECK(getsockopt(bound.fd(), IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, &length) == 0);
    return seconds != 0;
  };
  const auto all = [&] {
    std::vector<bool> deferred;
    for (const BoundSocket& bound : *sockets) deferred.push_back(is_deferred(bound));
    return deferred;
  };
  const std::string name = (*sockets)[2].name();
  const std::string as_others_say = "node-a" + name.substr(name.rfind(':'));
  ASSERT_TRUE(defer_accept(*sockets, as_others_say).ok());
  EXPECT_THAT(all(), testing::ElementsAre(false, true, false, false));
  ASSERT_TRUE(defer_accept(*sockets, "").ok());
  EXPECT_THAT(all(), testing::ElementsAre(false, true, true, true));
}

// Where both protocols share a socket, the kernel names the client as IPv6 maps it.
TEST(Sockets, AClientOfIpv4IsNamedSo) {
  Result<std::vector<BoundSocket>> sockets = bind_at({"[::]:0"});
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  ASSERT_TRUE((*sockets)[0].listen().ok());
  const int listener = (*sockets)[0].fd();
  sockaddr_in6 bound{};
  socklen_t length = sizeof bound;
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &length), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = bound.sin6_port;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  int accepted = -1;
  for (int tries = 0; tries < 1000 && accepted < 0; ++tries) {
    accepted = ::accept(listener, nullptr, nullptr);
    if (accepted < 0) ::usleep(1000);
  }
  ASSERT_GE(accepted, 0);
  sockaddr_in own{};
  length = sizeof own;
  ASSERT_EQ(getsockname(client, reinterpret_cast<sockaddr*>(&own), &length), 0);
  EXPECT_EQ(peer_name(accepted), fmt::format("127.0.0.1:{}", ntohs(own.sin_port)));
  ::close(accepted);
  ::close(client);
}

struct LocalCase {
  std::string address;  // A number, or "unix".
  bool local;
};

TEST(Sockets, OnlyClientsOfThisMachineAreLocal) {
  const LocalCase cases[] = {
      {"127.0.0.1", true},
      {"127.255.255.254", true},
      {"126.255.255.255", false},
      {"128.0.0.0", false},
      {"0.0.0.0", false},
      {"10.0.0.1", false},
      {"1.0.0.127", false},
      {"::1", true},
      {"::", false},
      {"::2", false},
      {"::ffff:127.0.0.1", true},
      {"::ffff:127.9.9.9", true},
      {"::ffff:10.0.0.1", false},
      {"::127.0.0.1", false},
      {"fe80::1", false},
      {"7f00::1", false},
      {"64:ff9b::127.0.0.1", false},
      {"unix", true},
  };
  for (const LocalCase& each : cases) {
    sockaddr_storage client{};
    auto& v4 = reinterpret_cast<sockaddr_in&>(client);
    auto& v6 = reinterpret_cast<sockaddr_in6&>(client);
    if (each.address == "unix") {
      client.ss_family = AF_UNIX;
    } else if (inet_pton(AF_INET, each.address.c_str(), &v4.sin_addr) == 1) {
      client.ss_family = AF_INET;
    } else {
      ASSERT_EQ(inet_pton(AF_INET6, each.address.c_str(), &v6.sin6_addr), 1) << each.address;
      client.ss_family = AF_INET6;
    }
    EXPECT_EQ(is_local(client), each.local) << each.address;
  }
  EXPECT_FALSE(is_local(sockaddr_storage{}));
}

TEST(Sockets, ATakenPortIsNoticed) {
  Result<std::vector<BoundSocket>> first = bind_at({"127.0.0.1:0"});
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE((*first)[0].listen().ok());
  EXPECT_THAT(error_at((*first)[0].name()), HasSubstr("Address already in use"));
}

// Both may bind while neither listens. The first that listens gets the port.
TEST(Sockets, APortThatIsTakenMeanwhileIsNoticed) {
  Result<std::vector<BoundSocket>> first = bind_at({"127.0.0.1:0"});
  ASSERT_TRUE(first.ok());
  Result<std::vector<BoundSocket>> second = bind_at({(*first)[0].name()});
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE((*first)[0].listen().ok());
  const Status status = (*second)[0].listen();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr("Address already in use"));
}

TEST(Sockets, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_THAT(error_at("203.0.113.1:0"), HasSubstr("203.0.113.1:0"));
}

TEST(Sockets, ASocketFileIsRemovedWithItsSocket) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  {
    const auto sockets = bind_at({"unix:" + path});
    ASSERT_TRUE(sockets.ok());
    EXPECT_TRUE(exists(path));
  }
  EXPECT_FALSE(exists(path));
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

// A socket without a lock file, as a killed server leaves it, or as another program creates it.
int bind_bare(const std::string& path) {
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  path.copy(where.sun_path, sizeof where.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(bind(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0);
  return fd;
}

TEST(Sockets, ASocketFileGetsItsModeOwnerAndGroup) {
  const support::TempDir dir;
  const std::string path = dir.path() + "/s";
  const std::vector<common::Address> addresses = {common::parse_address("unix:" + path, 1).take()};
  const std::string user = std::to_string(getuid());
  const std::string group = std::to_string(getgid());
  const auto bound = bind_sockets(addresses, 1, {.mode = 0660, .owner = user, .group = group});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  struct stat info {};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0660U);
  EXPECT_EQ(info.st_uid, getuid());
  EXPECT_EQ(info.st_gid, getgid());
}

TEST(Sockets, ASocketFileOfNobodyIsRefused) {
  const support::TempDir dir;
  const std::string path = dir.path() + "/s";
  const std::vector<common::Address> addresses = {common::parse_address("unix:" + path, 1).take()};
  EXPECT_THAT(bind_sockets(addresses, 1, {.owner = "no-such-user"}).status().message(),
              HasSubstr("there is no user no-such-user"));
  EXPECT_THAT(bind_sockets(addresses, 1, {.group = "no-such-group"}).status().message(),
              HasSubstr("there is no group no-such-group"));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Sockets, ALeftOverSocketFileIsReplaced) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  close(bind_bare(path));
  std::ofstream(path + ".lock").close();
  Result<std::vector<BoundSocket>> sockets = bind_at({"unix:" + path});
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  ASSERT_TRUE((*sockets)[0].listen().ok());
  EXPECT_TRUE(support::ClientSocket::connect("unix:" + path).ok());
}

TEST(Sockets, ASocketFileThatAnotherProgramAnswersAtStays) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  const int fd = bind_bare(path);
  ASSERT_EQ(listen(fd, 1), 0);
  EXPECT_THAT(error_at("unix:" + path), HasSubstr("another server answers there"));
  EXPECT_TRUE(support::ClientSocket::connect("unix:" + path).ok());
  close(fd);
}

// A socket that is bound and does not listen yet looks like one that a killed server left.
TEST(Sockets, ASocketFileWhoseServerDoesNotListenYetStays) {
  support::TempDir dir;
  const std::string text = "unix:" + dir.path() + "/s";
  Result<std::vector<BoundSocket>> first = bind_at({text});
  ASSERT_TRUE(first.ok());
  EXPECT_THAT(error_at(text), HasSubstr("another server has locked"));
  ASSERT_TRUE((*first)[0].listen().ok());
  EXPECT_TRUE(support::ClientSocket::connect(text).ok());
  EXPECT_THAT(error_at(text), HasSubstr("another server has locked"));
  first->clear();
  EXPECT_EQ(error_at(text), "");
}

TEST(Sockets, ASocketFileThatWasReplacedMeanwhileIsNoticed) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  Result<std::vector<BoundSocket>> sockets = bind_at({"unix:" + path});
  ASSERT_TRUE(sockets.ok());
  ASSERT_EQ(unlink(path.c_str()), 0);
  const Status gone = (*sockets)[0].listen();
  ASSERT_FALSE(gone.ok());
  EXPECT_THAT(gone.message(), HasSubstr("unix:" + path + ": its socket file is gone"));
  const int other = bind_bare(path);
  EXPECT_FALSE((*sockets)[0].listen().ok());
  // The destructor must not remove the other program's file.
  sockets->clear();
  EXPECT_TRUE(exists(path));
  close(other);
}

TEST(Sockets, AFileThatIsNoSocketStays) {
  support::TempDir dir;
  const std::string path = dir.path() + "/s";
  std::ofstream(path) << "text";
  EXPECT_THAT(error_at("unix:" + path), HasSubstr("no socket"));
  EXPECT_TRUE(exists(path));
  EXPECT_FALSE(exists(path + ".lock"));
  EXPECT_THAT(error_at("unix:" + dir.path() + "/no/such"), HasSubstr("No such file"));
  // A lock file that is not empty is not used either.
  const std::string other = dir.path() + "/other";
  std::ofstream(other + ".lock") << "text";
  EXPECT_THAT(error_at("unix:" + other), HasSubstr("no lock file"));
  EXPECT_TRUE(exists(other + ".lock"));
}

bool can_connect(const std::string& host, uint16_t port) {
  return common::connect_to({.host = host, .port = port, .path = {}}).ok();
}

uint16_t port_of(const BoundSocket& socket) {
  const std::string name = socket.name();
  return static_cast<uint16_t>(std::stoi(name.substr(name.rfind(':') + 1)));
}

// As beanstalkd does.
TEST(Sockets, TheWholeOfIpv6IsIpv4Too) {
  Result<std::vector<BoundSocket>> sockets = bind_at({"[::]:0"});
  if (!sockets.ok()) GTEST_SKIP() << "this machine has no IPv6";
  ASSERT_EQ(sockets->size(), 1u);
  ASSERT_TRUE((*sockets)[0].listen().ok());
  const uint16_t port = port_of((*sockets)[0]);
  EXPECT_TRUE(can_connect("127.0.0.1", port));
  EXPECT_TRUE(can_connect("::1", port));
}

TEST(Sockets, TheWholeOfIpv6LeavesIpv4ToAnAddressOfItsOwn) {
  Result<std::vector<BoundSocket>> first = bind_at({"[::]:0"});
  if (!first.ok()) GTEST_SKIP() << "this machine has no IPv6";
  const uint16_t port = port_of((*first)[0]);
  first->clear();
  for (const std::string ipv4 : {"0.0.0.0", "127.0.0.1"}) {
    Result<std::vector<BoundSocket>> both =
        bind_at({fmt::format("[::]:{}", port), fmt::format("{}:{}", ipv4, port)});
    ASSERT_TRUE(both.ok()) << both.status().message();
    for (BoundSocket& socket : *both) EXPECT_TRUE(socket.listen().ok());
    EXPECT_TRUE(can_connect("127.0.0.1", port));
  }
}

TEST(Sockets, WithoutAnAddressBothFamiliesAreServed) {
  Result<std::vector<BoundSocket>> sockets = bind_sockets({}, 0);
  ASSERT_TRUE(sockets.ok()) << sockets.status().message();
  ASSERT_EQ(sockets->size(), 1u);
  EXPECT_THAT((*sockets)[0].name(), testing::MatchesRegex("(\\[::\\]|0\\.0\\.0\\.0):[1-9][0-9]*"));
}

}  // namespace
}  // namespace perennial::perenniald
