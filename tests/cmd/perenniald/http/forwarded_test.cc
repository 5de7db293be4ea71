#include "cmd/perenniald/http/forwarded.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::http {
namespace {

// 10.0.0.0/8 and fd00::1 are proxies.
Proxies proxies() {
  Proxies out;
  for (const char* text : {"10.0.0.0/8", "fd00::1"}) {
    out.networks.push_back(*common::parse_network(text));
  }
  return out;
}

Forwarded forwarded(const std::string& chain, const std::string& scheme = "") {
  Request request;
  if (!chain.empty()) request.fields["x-forwarded-for"] = chain;
  if (!scheme.empty()) request.fields["x-forwarded-proto"] = scheme;
  return forwarded_of(request, proxies());
}

TEST(Forwarded, ClientIsTheRightMostThatIsNoProxy) {
  struct Case {
    const char* chain;
    const char* want;  // Empty: none is said.
  };
  const Case cases[] = {
      {"", ""},
      {"203.0.113.7", "203.0.113.7"},
      {" 203.0.113.7 ", "203.0.113.7"},
      {"2001:db8::7", "2001:db8::7"},
      {"203.0.113.7, 10.0.0.2", "203.0.113.7"},
      {"203.0.113.7,10.0.0.2,fd00::1", "203.0.113.7"},
      // What the client itself has sent.
      {"198.51.100.1, 203.0.113.7", "203.0.113.7"},
      {"127.0.0.1, 203.0.113.7, 10.0.0.2", "203.0.113.7"},
      {"10.0.0.9, 203.0.113.7, 10.0.0.2", "203.0.113.7"},
      {"nonsense, 203.0.113.7", "203.0.113.7"},
      // All of them are proxies: the first of them asks for itself.
      {"10.0.0.9, 10.0.0.2", "10.0.0.9"},
      // Behind what is no address nothing is known.
      {"203.0.113.7, unknown, 10.0.0.2", "10.0.0.2"},
      {"203.0.113.7, , 10.0.0.2", "10.0.0.2"},
      {"unknown", ""},
      {"203.0.113.7:4711", ""},
      {"[2001:db8::7]", ""},
      {"203.0.113.7,", ""},
      {",", ""},
  };
  for (const Case& c : cases) {
    const Forwarded got = forwarded(c.chain);
    EXPECT_EQ(got.address ? common::to_text(*got.address) : "", c.want) << c.chain;
    EXPECT_FALSE(got.is_tls);
  }
}

TEST(Forwarded, SchemeIsThatOfTheProxyAtThisEnd) {
  struct Case {
    const char* scheme;
    std::optional<bool> want;
  };
  const Case cases[] = {
      {"", {}},      {"https", true}, {"http", false}, {"https, http", false}, {"http,https", true},
      {"HTTPS", {}}, {"wss", {}},     {"https, ", {}}, {"https;", {}},
  };
  for (const Case& c : cases) EXPECT_EQ(forwarded("", c.scheme).is_tls, c.want) << c.scheme;
}

}  // namespace
}  // namespace perennial::http
