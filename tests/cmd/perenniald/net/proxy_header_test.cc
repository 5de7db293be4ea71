#include "cmd/perenniald/net/streams/proxy_header.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

using State = ProxyHeaderRead::State;

std::string v2(char command, char family, const std::string& addresses) {
  std::string out("\r\n\r\n\0\r\nQUIT\n", 12);
  out += command;
  out += family;
  out += static_cast<char>(addresses.size() >> 8);
  out += static_cast<char>(addresses.size() & 0xff);
  return out + addresses;
}
const std::string v4_addresses("\xc0\x00\x02\x01\xc0\x00\x02\x02\x12\x67\x2c\x24", 12);
const std::string v6_addresses = std::string("\x20\x01\x0d\xb8", 4) + std::string(11, '\0') +
                                 "\x01" + std::string(16, '\x02') +
                                 std::string("\x12\x67\x2c\x24", 4);

struct HeaderCase {
  const char* name;
  std::string bytes;
  State state = State::Whole;
  std::string peer = {};  // Empty: nobody is named.
};

const std::vector<HeaderCase> cases = {
    {"V4", "PROXY TCP4 192.0.2.1 192.0.2.2 4711 11300\r\n", State::Whole, "192.0.2.1:4711"},
    {"V6", "PROXY TCP6 2001:db8::1 2001:db8::2 4711 1\r\n", State::Whole, "[2001:db8::1]:4711"},
    {"Unknown", "PROXY UNKNOWN\r\n"},
    {"UnknownWithMore", "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"},
    {"OtherFamily", "PROXY TCP6 192.0.2.1 192.0.2.2 4711 11300\r\n", State::None},
    {"NoPort", "PROXY TCP4 192.0.2.1 192.0.2.2\r\n", State::None},
    {"LargePort", "PROXY TCP4 192.0.2.1 192.0.2.2 65536 11300\r\n", State::None},
    {"NoAddress", "PROXY TCP4 localhost 192.0.2.2 1 2\r\n", State::None},
    {"OverLong", "PROXY TCP4 " + std::string(96, ' '), State::None},
    {"Begun", "PROXY TCP4 192.0.2.1", State::Incomplete},
    {"OneByte", "P", State::Incomplete},
    {"Http", "GET / HTTP/1.1\r\n", State::None},
    {"Queue", "put 0 0 60 1\r\na\r\n", State::None},
    {"Version2", v2(0x21, 0x11, v4_addresses), State::Whole, "192.0.2.1:4711"},
    {"Version2WithV6", v2(0x21, 0x21, v6_addresses), State::Whole, "[2001:db8::1]:4711"},
    {"Version2WithMore", v2(0x21, 0x11, v4_addresses + "\x04\x01\x02" + std::string(258, 'x')),
     State::Whole, "192.0.2.1:4711"},
    {"Version2Local", v2(0x20, 0, "")},
    {"Version2LocalWithAddresses", v2(0x20, 0x11, v4_addresses)},
    {"Version2Unix", v2(0x21, 0x31, std::string(216, 'x'))},
    {"Version2TooShort", v2(0x21, 0x11, "1234"), State::None},
    {"Version2OtherCommand", v2(0x22, 0x11, v4_addresses), State::None},
    {"Version3", v2(0x31, 0x11, v4_addresses), State::None},
    {"Version2TooLong", v2(0x21, 0x11, std::string(5000, 'x')), State::None},
    {"Version2Begun", v2(0x21, 0x11, v4_addresses).substr(0, 20), State::Incomplete},
    {"TwoEmptyLines", "\r\n\r\n", State::Incomplete},
};

class HeaderTest : public testing::TestWithParam<HeaderCase> {};

TEST_P(HeaderTest, IsReadAsItIsMeant) {
  const HeaderCase& test = GetParam();
  for (const std::string& behind : {std::string(), std::string("stats\r\n")}) {
    if (!behind.empty() && test.state == State::Incomplete) continue;
    const ProxyHeaderRead read = read_proxy_header(test.bytes + behind);
    ASSERT_EQ(read.state, test.state);
    EXPECT_EQ(read.header.peer, test.peer);
    EXPECT_EQ(read.header.address.has_value(), !test.peer.empty());
    EXPECT_EQ(read.header.is_own, std::string_view(test.name).starts_with("Version2Local"));
    EXPECT_EQ(read.header.bytes, test.state == State::Whole ? test.bytes.size() : 0u);
  }
  if (test.state != State::Whole) return;
  for (size_t bytes = 0; bytes < test.bytes.size(); ++bytes) {
    EXPECT_EQ(read_proxy_header(test.bytes.substr(0, bytes)).state, State::Incomplete) << bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, HeaderTest, testing::ValuesIn(cases),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace perennial::perenniald
