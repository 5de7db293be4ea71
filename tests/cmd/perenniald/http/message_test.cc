#include "cmd/perenniald/http/message.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace perennial::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::string host = "Host: localhost:11380\r\n";

std::string get(const std::string& target, const std::string& fields = "") {
  return "GET " + target + " HTTP/1.1\r\n" + host + fields + "\r\n";
}

TEST(RequestParser, ReadsARequest) {
  RequestParser parser;
  EXPECT_FALSE(parser.is_within());
  parser.add(get("/metrics?names=beanstalkd", "Accept: a\r\nACCEPT: b\r\n"));
  const std::optional<Request> request = parser.next();
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/metrics");
  EXPECT_EQ(request->query, "names=beanstalkd");
  EXPECT_EQ(request->field("accept"), "a, b");
  EXPECT_EQ(request->field("cookie"), "");
  EXPECT_TRUE(request->keep_alive);
  EXPECT_FALSE(parser.is_within());
  EXPECT_FALSE(parser.next());
}

TEST(RequestParser, ReadsBodiesAndWhatFollows) {
  const std::string post = "POST /a HTTP/1.1\r\n" + host + "Content-Length: 5\r\n\r\nhello";
  const std::string both = post + get("/b", "Connection: close\r\n");
  for (size_t first = 0; first <= both.size(); ++first) {
    RequestParser parser;
    std::vector<Request> got;
    for (const std::string& piece : {both.substr(0, first), both.substr(first)}) {
      parser.add(piece);
      while (std::optional<Request> request = parser.next()) got.push_back(*request);
    }
    ASSERT_EQ(got.size(), 2u) << first;
    EXPECT_EQ(got[0].body, "hello");
    EXPECT_TRUE(got[0].keep_alive);
    EXPECT_EQ(got[1].path, "/b");
    EXPECT_FALSE(got[1].keep_alive);
  }
}

TEST(RequestParser, AnOldClientNeedsNoHost) {
  RequestParser parser;
  parser.add("GET /livez HTTP/1.0\r\n\r\n");
  const std::optional<Request> request = parser.next();
  ASSERT_TRUE(request);
  EXPECT_FALSE(request->keep_alive);
}

// T9: what proxies and servers read in different ways is refused, wherever it is divided.
struct RefusedCase {
  const char* name;
  std::string bytes;
  Status status = Status::BadRequest;
};

void PrintTo(const RefusedCase& refused, std::ostream* out) {
  *out << refused.name;
}

class Refused : public testing::TestWithParam<RefusedCase> {};

std::optional<Status> refusal_of(const std::vector<std::string>& pieces) {
  RequestParser parser;
  for (const std::string& piece : pieces) {
    parser.add(piece);
    EXPECT_FALSE(parser.next());
  }
  return parser.refused();
}

TEST_P(Refused, InOnePieceAndByteByByte) {
  const std::string& bytes = GetParam().bytes;
  EXPECT_EQ(refusal_of({bytes}), GetParam().status);
  std::vector<std::string> pieces;
  for (const char c : bytes) pieces.emplace_back(1, c);
  EXPECT_EQ(refusal_of(pieces), GetParam().status);
}

std::string post(const std::string& fields) {
  return "POST /a HTTP/1.1\r\n" + host + fields + "\r\nhello";
}

INSTANTIATE_TEST_SUITE_P(
    T9, Refused,
    testing::Values(
        RefusedCase{"LengthAndEncoding",
                    post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
                    Status::BadRequest},
        RefusedCase{"EncodingAndLength",
                    post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
                    Status::BadRequest},
        RefusedCase{"Encoding", post("Transfer-Encoding: chunked\r\n"), Status::NotImplemented},
        RefusedCase{"UnknownEncoding", post("Transfer-Encoding: x\r\n"), Status::NotImplemented},
        RefusedCase{"TwoEncodings", post("Transfer-Encoding: chunked, identity\r\n"),
                    Status::NotImplemented},
        RefusedCase{"EncodingOfAnOldClient",
                    "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                    Status::NotImplemented},
        RefusedCase{"TwoLengths", post("Content-Length: 5\r\nContent-Length: 6\r\n")},
        RefusedCase{"TheSameLengthTwice", post("Content-Length: 5\r\nContent-Length: 5\r\n")},
        RefusedCase{"AListOfLengths", post("Content-Length: 5, 5\r\n")},
        RefusedCase{"ALengthWithASign", post("Content-Length: +5\r\n")},
        RefusedCase{"ANegativeLength", post("Content-Length: -5\r\n")},
        RefusedCase{"AHexadecimalLength", post("Content-Length: 0x5\r\n")},
        RefusedCase{"ALargeBody", post("Content-Length: 1048577\r\n"), Status::ContentTooLarge},
        RefusedCase{"NoHost", "GET / HTTP/1.1\r\n\r\n"},
        RefusedCase{"TwoHosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n"},
        RefusedCase{"ASpaceBeforeTheColon", "GET / HTTP/1.1\r\nHost : localhost\r\n\r\n"},
        RefusedCase{"AFoldedLine", "GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n"},
        RefusedCase{"ATabFold", "GET / HTTP/1.1\r\n" + host + "A: b\r\n\tc\r\n\r\n"},
        RefusedCase{"ABareLf", "GET / HTTP/1.1\nHost: localhost\n\n"},
        RefusedCase{"ABareCr", "GET / HTTP/1.1\r\nHost: local\rhost\r\n\r\n"},
        RefusedCase{"ANul", std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 29)},
        RefusedCase{"ANameThatIsNone", "GET / HTTP/1.1\r\n" + host + "A(b): c\r\n\r\n"},
        RefusedCase{"AnAbsoluteTargetOfAnotherHost",
                    "GET http://localhost.evil/ HTTP/1.1\r\n" + host + "\r\n"},
        RefusedCase{"AnAbsoluteTargetWithAUser",
                    "GET http://a@localhost:11380/ HTTP/1.1\r\n" + host + "\r\n"},
        RefusedCase{"AnAbsoluteTargetOfAnotherProtocol",
                    "GET ftp://localhost:11380/ HTTP/1.1\r\n" + host + "\r\n"},
        RefusedCase{"AnAbsoluteTargetWithoutAPath",
                    "GET http://localhost:11380?a HTTP/1.1\r\n" + host + "\r\n"},
        RefusedCase{"TargetsThatAreNone", "GET * HTTP/1.1\r\n" + host + "\r\n"},
        RefusedCase{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Status::VersionNotSupported},
        RefusedCase{"Http9", "GET / HTTP/9.9\r\n" + host + "\r\n", Status::VersionNotSupported},
        RefusedCase{"ALongHeader", "GET / HTTP/1.1\r\nA: " + std::string(8200, 'a'),
                    Status::FieldsTooLarge},
        RefusedCase{"ALongTarget", "GET /" + std::string(8200, 'a'), Status::FieldsTooLarge},
        // The first thing that is wrong is the reason.
        RefusedCase{"ABareLfInALongHeader", "GET / HTTP/1.1\nA: " + std::string(8200, 'a')},
        RefusedCase{"ALongHeaderWithAnEnd", get("/", "A: " + std::string(8200, 'a') + "\r\n"),
                    Status::FieldsTooLarge},
        RefusedCase{"OnlyALineOfAnotherProtocol", "GET / FTP/1.1\r\n\r\n"},
        // T4.
        RefusedCase{"Beanstalk", "put 0 0 10 1\r\na\r\n"},
        RefusedCase{"Tls", std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11)}),
    [](const auto& refused) { return std::string(refused.param.name); });

// RFC 9112, 3.2.2: what a client sends that takes this server for a proxy.
TEST(RequestParser, TakesAnAbsoluteTargetOfItsOwnHost) {
  struct Case {
    std::string target;
    std::string path;
    std::string query;
  };
  for (const Case& each : {Case{"http://localhost:11380/livez", "/livez", ""},
                           Case{"HTTP://LOCALHOST:11380/a?b=c", "/a", "b=c"},
                           Case{"https://localhost:11380", "/", ""}}) {
    RequestParser parser;
    parser.add("GET " + each.target + " HTTP/1.1\r\n" + host + "\r\n");
    const std::optional<Request> request = parser.next();
    ASSERT_TRUE(request) << each.target;
    EXPECT_EQ(request->path, each.path);
    EXPECT_EQ(request->query, each.query);
  }
}

// RFC 9110, 10.1.1. curl waits a second for it before it sends a body of some size.
TEST(RequestParser, SaysOnceWhetherTheClientWaitsForItsTurn) {
  const std::string head = "POST /a HTTP/1.1\r\n" + host + "Content-Length: 5\r\n";
  RequestParser parser;
  parser.add(head + "Expect: 100-Continue\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_FALSE(parser.take_continue());
  parser.add("\r\n");
  EXPECT_FALSE(parser.next());
  EXPECT_TRUE(parser.take_continue());
  EXPECT_FALSE(parser.next());
  EXPECT_FALSE(parser.take_continue());
  parser.add("hello");
  EXPECT_TRUE(parser.next());
  EXPECT_FALSE(parser.take_continue());
  // Whoever has begun with the body, or asks for nothing, or knows no such answer, waits for none.
  for (const std::string& bytes :
       {head + "Expect: 100-continue\r\n\r\nh", head + "\r\n", head + "Expect: x\r\n\r\n",
        std::string("POST /a HTTP/1.0\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")}) {
    RequestParser other;
    other.add(bytes);
    EXPECT_FALSE(other.next());
    EXPECT_FALSE(other.take_continue()) << bytes;
  }
}

TEST(RequestParser, CountsFields) {
  for (const size_t count : {64u, 65u}) {
    RequestParser parser;
    std::string fields;
    for (size_t i = 1; i < count; ++i) fields += "A: b\r\n";
    parser.add(get("/", fields));
    EXPECT_EQ(parser.next().has_value(), count == 64);
    EXPECT_EQ(parser.refused(), count == 64 ? std::nullopt : std::optional(Status::FieldsTooLarge));
  }
}

// The largest body may depend on what is asked. It is refused before it has come.
TEST(RequestParser, RefusesABodyThatIsTooLargeForItsPath) {
  const MessageLimits limits = {
      .body_bytes_max_of = [](std::string_view method, std::string_view path) -> size_t {
        return method == "POST" && path == "/large" ? 100 : 10;
      }};
  struct Case {
    std::string target;
    size_t bytes;
    std::optional<Status> refused;
  };
  for (const Case& each :
       {Case{"/large?a=b", 100, std::nullopt}, Case{"/large", 101, Status::ContentTooLarge},
        Case{"/small", 10, std::nullopt}, Case{"/small", 11, Status::ContentTooLarge},
        Case{"/larger", 11, Status::ContentTooLarge}}) {
    RequestParser parser(limits);
    parser.add("POST " + each.target + " HTTP/1.1\r\n" + host +
               "Content-Length: " + std::to_string(each.bytes) + "\r\n\r\n");
    EXPECT_FALSE(parser.next());
    EXPECT_EQ(parser.refused(), each.refused) << each.target << " " << each.bytes;
  }
}

TEST(Render, KeepsBrowsersFromMisuse) {
  const std::string bytes = render({.body = "hello", .fields = {{"Allow", "GET"}}}, true, false);
  EXPECT_TRUE(bytes.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(bytes.ends_with("\r\n\r\nhello"));
  for (const char* field :
       {"Content-Length: 5\r\n", "X-Content-Type-Options: nosniff\r\n", "Allow: GET\r\n",
        "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n",
        "Cache-Control: no-store\r\n"}) {
    EXPECT_THAT(bytes, HasSubstr(field));
  }
  EXPECT_THAT(bytes, Not(HasSubstr("Connection: close")));
  EXPECT_THAT(bytes, Not(HasSubstr("Access-Control")));
  const std::string head = render({.body = "hello"}, false, true);
  EXPECT_THAT(head, HasSubstr("Content-Length: 5\r\n"));
  EXPECT_THAT(head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(Query, GivesTheValuesOfAName) {
  EXPECT_THAT(query_values("a=1&b&a=2=3&aa=4", "a"), ElementsAre("1", "2=3"));
  EXPECT_THAT(query_values("verbose&exclude=disk", "verbose"), ElementsAre(""));
  EXPECT_THAT(query_values("", "a"), IsEmpty());
  EXPECT_THAT(query_values("&&=a", "a"), IsEmpty());
}

}  // namespace
}  // namespace perennial::http
