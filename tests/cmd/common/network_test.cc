#include "cmd/common/network.h"

#include <optional>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

using std::string_literals::operator""s;

IpAddress ip(std::string_view text) {
  const std::optional<IpAddress> address = parse_ip(text);
  EXPECT_TRUE(address) << text;
  return address.value_or(IpAddress{});
}

TEST(IpAddress, IsReadAndWritten) {
  for (const char* text :
       {"0.0.0.0", "10.0.0.5", "255.255.255.255", "::", "::1", "fd00::5", "2001:db8:1:2:3:4:5:6"}) {
    EXPECT_EQ(to_text(ip(text)), text);
  }
  EXPECT_EQ(to_text(ip("::ffff:10.0.0.5")), "10.0.0.5");
  EXPECT_EQ(ip("::ffff:10.0.0.5"), ip("10.0.0.5"));
}

TEST(IpAddress, IsNothingElse) {
  for (const std::string& text : {""s, "localhost"s, "10.0.0"s, "10.0.0.256"s, "010.0.0.1"s,
                                  "10.0.0.5:80"s, "[::1]"s, " ::1"s, "::1 "s, "fe80::1%lo"s,
                                  "10.0.0.0/8"s, "unknown"s, "10.0.0.5\0"s, "10.0.0.5\0x"s}) {
    EXPECT_FALSE(parse_ip(text)) << text;
  }
}

TEST(IpAddress, IsLocalWhereOnlyThisMachineHasIt) {
  for (const char* text : {"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_local(ip(text))) << text;
  }
  for (const char* text : {"126.255.255.255", "128.0.0.0", "10.0.0.5", "::", "::2", "7f00::"}) {
    EXPECT_FALSE(is_local(ip(text))) << text;
  }
}

TEST(IpAddress, OfIpv6IsOneOfANetworkOfClients) {
  EXPECT_EQ(to_text(client_network(ip("2001:db8:1:2:3:4:5:6"))), "2001:db8:1:2::");
  EXPECT_EQ(to_text(client_network(ip("10.1.2.3"))), "10.1.2.3");
}

TEST(Network, HoldsWhatBeginsAlike) {
  struct Case {
    const char* network;
    const char* within;
    const char* outside;
  };
  const Case cases[] = {
      {"10.0.0.5", "10.0.0.5", "10.0.0.4"},
      {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
      {"10.0.0.0/8", "10.0.0.0", "9.255.255.255"},
      {"192.168.64.0/19", "192.168.95.255", "192.168.96.0"},
      {"10.0.0.4/31", "10.0.0.5", "10.0.0.6"},
      {"10.0.0.5/32", "10.0.0.5", "10.0.0.6"},
      {"128.0.0.0/1", "255.255.255.255", "127.255.255.255"},
      {"fd00::5", "fd00::5", "fd00::6"},
      {"fd00::/8", "fdff::1", "fe00::"},
      {"2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"},
      {"::ffff:10.0.0.5", "10.0.0.5", "10.0.0.6"},
      {"10.0.0.0/8", "::ffff:10.1.1.1", "::10.1.1.1"},
  };
  for (const Case& c : cases) {
    const Result<Network> network = parse_network(c.network);
    ASSERT_TRUE(network.ok()) << c.network;
    EXPECT_TRUE(network->holds(ip(c.within))) << c.network;
    EXPECT_FALSE(network->holds(ip(c.outside))) << c.network;
  }
}

TEST(Network, IsRefusedIfItIsNone) {
  struct Case {
    const char* text;
    const char* why;
  };
  const Case cases[] = {
      {"", "is no address"},
      {"proxy.test", "is no address"},
      {"10.0.0.5:80", "is no address"},
      {"/8", "is no address"},
      {"10.0.0.0/", "from 1 to 32"},
      {"10.0.0.0/33", "from 1 to 32"},
      {"10.0.0.0/-1", "from 1 to 32"},
      {"10.0.0.0/8/8", "from 1 to 32"},
      {"10.0.0.0/255.0.0.0", "from 1 to 32"},
      {"fd00::/129", "from 1 to 128"},
      {"0.0.0.0/0", "is everybody"},
      {"::/0", "is everybody"},
      {"10.0.0.5/8", "within a network: 10.0.0.0/8"},
      {"fd00::5/64", "within a network: fd00::/64"},
  };
  for (const Case& c : cases) {
    const Result<Network> network = parse_network(c.text);
    ASSERT_FALSE(network.ok()) << c.text;
    EXPECT_EQ(network.status().code(), StatusCode::InvalidArgument);
    EXPECT_NE(network.status().message().find(c.why), std::string::npos)
        << network.status().message();
  }
}

}  // namespace
}  // namespace perennial::common
