#include "cmd/common/address.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::common {
namespace {

TEST(Address, IsReadInEveryForm) {
  struct Case {
    std::string text;
    std::string host;
    uint16_t port;
    std::string written;
  };
  const Case cases[] = {{"127.0.0.1", "127.0.0.1", 7, "127.0.0.1:7"},
                        {"127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0"},
                        {"localhost:65535", "localhost", 65535, "localhost:65535"},
                        {"queue.example", "queue.example", 7, "queue.example:7"},
                        {"::1", "::1", 7, "[::1]:7"},
                        {"::", "::", 7, "[::]:7"},
                        {"fe80::1%lo", "fe80::1%lo", 7, "[fe80::1%lo]:7"},
                        {"[::1]", "::1", 7, "[::1]:7"},
                        {"[::1]:11300", "::1", 11300, "[::1]:11300"},
                        {":11300", "", 11300, ":11300"},
                        {"127.0.0.1:http", "127.0.0.1", 80, "127.0.0.1:80"}};
  for (const Case& c : cases) {
    const Result<Address> got = parse_address(c.text, 7);
    ASSERT_TRUE(got.ok()) << c.text << ": " << got.status().message();
    EXPECT_EQ(got->kind, Address::Kind::Internet) << c.text;
    EXPECT_EQ(got->host, c.host) << c.text;
    EXPECT_EQ(got->port, c.port) << c.text;
    EXPECT_EQ(to_text(*got), c.written);
    EXPECT_TRUE(parse_address(c.written, 9).ok()) << c.written;
  }
}

TEST(Address, UnixHasAPath) {
  const Result<Address> got = parse_address("unix:/run/a b:1.sock", 7);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(got->kind, Address::Kind::Unix);
  EXPECT_EQ(got->path, "/run/a b:1.sock");
  EXPECT_EQ(to_text(*got), "unix:/run/a b:1.sock");
}

TEST(Address, UnixPathHasALimit) {
  EXPECT_TRUE(parse_address("unix:" + std::string(107, 'a'), 7).ok());
  const Result<Address> got = parse_address("unix:" + std::string(108, 'a'), 7);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(got.status().message(), testing::HasSubstr("too long"));
}

TEST(Address, SaysWhatIsWrong) {
  const std::pair<std::string, std::string> cases[] = {{"", "empty"},
                                                       {"unix:", "needs the path"},
                                                       {"[::1", "lacks its ']'"},
                                                       {"[]", "nothing between"},
                                                       {"[::1]80", "'80' behind its ']'"},
                                                       {"[::1]:", "no port"},
                                                       {"127.0.0.1:", "no port"},
                                                       {"127.0.0.1:65536", "'65536' is no port"},
                                                       {"127.0.0.1:-1", "'-1' is no port"},
                                                       {"host:no-such-service", "is no port"},
                                                       {"/run/socket", "is no address"},
                                                       {"a b", "is no address"}};
  for (const auto& [text, wanted] : cases) {
    const Result<Address> got = parse_address(text, 7);
    ASSERT_FALSE(got.ok()) << text;
    EXPECT_EQ(got.status().code(), StatusCode::InvalidArgument);
    EXPECT_THAT(got.status().message(), testing::HasSubstr(wanted)) << text;
  }
}

}  // namespace
}  // namespace perennial::common
