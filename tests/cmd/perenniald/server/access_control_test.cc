#include "cmd/perenniald/server/access_control.h"

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

http::Forwarded from(std::string_view address, std::optional<bool> is_tls = {}) {
  return {.address = common::parse_ip(address), .is_tls = is_tls};
}

// Of a proxy on this machine, over a unix socket.
access::ClientRights proxy() {
  return {.may_checkpoint = true, .is_unix = true, .is_proxy = true};
}

TEST(Proxies, AreThoseOfTheSetting) {
  Config config = default_config();
  EXPECT_FALSE(proxies_of(config).on_unix_sockets);
  EXPECT_TRUE(proxies_of(config).networks.empty());
  config.http_proxies = {"10.0.0.0/8", "unix"};
  const http::Proxies proxies = proxies_of(config);
  EXPECT_TRUE(proxies.on_unix_sockets);
  EXPECT_TRUE(proxies.holds(*common::parse_ip("10.1.2.3")));
  EXPECT_FALSE(proxies.holds(*common::parse_ip("11.1.2.3")));
}

TEST(ForwardedRights, AreThoseOfTheProxyIfItSaysNothing) {
  const access::ClientRights rights = forwarded_rights(default_config(), {}, proxy());
  EXPECT_TRUE(rights.may_checkpoint);
  EXPECT_TRUE(rights.is_unix);
  EXPECT_FALSE(rights.is_tls);
  EXPECT_TRUE(rights.may_send_token);
  EXPECT_EQ(rights.address, "");
}

TEST(ForwardedRights, OfAnotherMachineAreNotThoseOfThisOne) {
  Config config = default_config();
  access::ClientRights rights = forwarded_rights(config, from("203.0.113.7"), proxy());
  EXPECT_FALSE(rights.may_checkpoint);
  EXPECT_FALSE(rights.is_unix);
  EXPECT_EQ(rights.address, "203.0.113.7");
  EXPECT_EQ(forwarded_rights(config, from("2001:db8:1:2:3::4"), proxy()).address, "2001:db8:1:2::");
  rights = forwarded_rights(config, from("127.0.0.1"), proxy());
  EXPECT_TRUE(rights.may_checkpoint);
  EXPECT_FALSE(rights.is_unix);
  config.checkpoint_from = CheckpointFrom::Any;
  EXPECT_TRUE(forwarded_rights(config, from("203.0.113.7"), proxy()).may_checkpoint);
}

TEST(ForwardedRights, SendTokensWhereNobodyOnTheWayReadsThem) {
  struct Case {
    http::Forwarded client;
    bool auth_plaintext;
    bool may_send_token;
    bool is_tls;
  };
  const Case cases[] = {
      {from("203.0.113.7", true), false, true, true},
      {from("203.0.113.7", false), false, false, false},
      {from("203.0.113.7", false), true, true, false},
      {from("127.0.0.1", false), false, true, false},
      {from("", false), false, false, false},
      {from("", true), false, true, true},
      {from("203.0.113.7"), false, true, false},
  };
  for (const Case& c : cases) {
    Config config = default_config();
    config.auth_plaintext = c.auth_plaintext;
    const access::ClientRights rights = forwarded_rights(config, c.client, proxy());
    EXPECT_EQ(rights.may_send_token, c.may_send_token);
    EXPECT_EQ(rights.is_tls, c.is_tls);
    // The way from the proxy to here is readable.
    access::ClientRights plain = proxy();
    plain.may_send_token = false;
    EXPECT_FALSE(forwarded_rights(config, c.client, plain).may_send_token);
  }
}

}  // namespace
}  // namespace perennial::perenniald
