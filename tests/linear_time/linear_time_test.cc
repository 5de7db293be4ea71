// Every parser of bytes that come from outside takes a time that grows as their number does. A new
// parser gets its rows here.

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cmd/common/base64.h"
#include "cmd/common/list.h"
#include "cmd/common/network.h"
#include "cmd/common/tool/stats_reply.h"
#include "cmd/perennial/cluster/verify.h"
#include "cmd/perennial/dump/dump_parser.h"
#include "cmd/perennial/jobs/job_list.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/forwarded.h"
#include "cmd/perenniald/http/json_path.h"
#include "cmd/perenniald/http/message.h"
#include "cmd/perenniald/net/streams/proxy_header.h"
#include "store/cluster/records.h"
#include "tests/linear_time/growth.h"
#include "wire/client.h"
#include "wire/parser.h"

namespace perennial::linear_time {
namespace {

constexpr size_t kib = 1 << 10;
constexpr size_t mib = 1 << 20;

// `unit` again and again between the two others. "{}" in it is a number that is never the same.
std::string repeated(std::string_view head, std::string_view unit, std::string_view tail,
                     size_t bytes) {
  std::string out(head);
  const size_t hole = unit.find("{}");
  for (size_t number = 0; out.size() + unit.size() + tail.size() < bytes; ++number) {
    out += unit.substr(0, hole);
    if (hole == std::string_view::npos) continue;
    out += fmt::format("{}", number);
    out += unit.substr(hole + 2);
  }
  return out += tail;
}

struct Shape {
  std::string_view name;
  std::string_view head;
  std::string_view unit;
  std::string_view tail;
};

void add(std::vector<Case>& out, std::string_view parser, size_t bytes_max,
         std::span<const Shape> shapes, const std::function<void(const std::string&)>& parse) {
  for (const Shape& shape : shapes) {
    out.push_back(
        {fmt::format("{}_{}", parser, shape.name), bytes_max,
         [shape](size_t bytes) { return repeated(shape.head, shape.unit, shape.tail, bytes); },
         parse});
  }
}

constexpr Shape json_shapes[] = {
    {"EmptyObjects", R"({"a":[)", "{},", "{}]}"},
    {"DistinctMembers", "{", R"("m{}":0,)", R"("z":0})"},
    {"SameMember", "{", R"("m":0,)", R"("z":0})"},
    {"MembersWithin", R"({"token":{)", R"("m{}":0,)", R"("z":0}})"},
    {"ObjectsWithMembers", R"({"a":[)", R"({"a":1},)", "{}]}"},
    {"DeepArrays", R"({"a":)", "[", ""},
    {"DeepObjects", "", R"({"a":)", ""},
    {"Escapes", R"({"token":")", R"(\u00e9\n)", R"("})"},
    {"Unended", R"({"token":")", "a", ""},
    {"Digits", R"({"token":)", "9", "}"},
    {"Fraction", R"({"token":0.)", "9", "}"},
    {"Strings", R"({"a":[)", R"("mail",)", R"("a"]})"},
    {"Spaces", "{", " ", "}"},
    {"NotUtf8", R"({"token":")", "\xff", R"("})"},
};

void read_fields(const std::string& body) {
  http::Request request;
  request.fields["content-type"] = "application/json";
  request.body = body;
  http::Fields fields(request);
  (void)fields.text("token");
  (void)fields.states("a");
  (void)fields.problem();
}

void read_requests(const std::string& bytes) {
  http::RequestParser parser;
  // As much as a read of the server brings.
  for (size_t at = 0; at < bytes.size() && !parser.refused(); at += 64 * kib) {
    parser.add(std::string_view(bytes).substr(at, 64 * kib));
    while (parser.next()) continue;
  }
}

void read_commands(const std::string& bytes) {
  wire::Parser parser(65'535);
  for (std::span<const char> rest(bytes); !rest.empty();) {
    const wire::Step step = parser.feed(rest);
    rest = rest.subspan(step.consumed);
    if (step.foreign_protocol) return;
  }
}

void read_replies(const std::string& bytes) {
  wire::ReplyParser parser;
  for (std::span<const char> rest(bytes); !rest.empty();) {
    const wire::ReplyStep step = parser.feed(rest);
    rest = rest.subspan(step.consumed);
    if (!step.status.ok()) return;
  }
}

void add_http(std::vector<Case>& out) {
  add(out, "HttpJson", mib, json_shapes, read_fields);
  constexpr Shape requests[] = {
      {"Pipelined", "", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", ""},
      {"EmptyLines", "", "\r\n", ""},
      {"Fields", "GET / HTTP/1.1\r\nHost: a\r\n", "A: b\r\n", "\r\n"},
      {"OneField", "GET / HTTP/1.1\r\nHost: a\r\nCookie: ", "a", "\r\n\r\n"},
      {"Target", "GET /", "a", " HTTP/1.1\r\nHost: a\r\n\r\n"},
      {"NoEnd", "GET /", "\r\r\r", ""},
      {"Body", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048000\r\n\r\n", "a", ""},
  };
  add(out, "HttpRequests", mib, requests, read_requests);
  constexpr Shape queries[] = {
      {"Names", "", "a&", ""},
      {"Values", "", "match=a&", ""},
      {"Encoded", "match=", "%41", ""},
      {"Equals", "match", "=", ""},
  };
  add(out, "HttpQuery", 8 * kib, queries, [](const std::string& query) {
    http::Query read(query);
    (void)read.text("match");
    (void)http::percent_decoded(query);
  });
  constexpr Shape lists[] = {
      {"Empty", "", ";,", ""},
      {"Addresses", "", "10.0.0.1, ", ""},
      {"Spaces", "", " ", ""},
      {"SpacesBetween", "", " ,", ""},
  };
  add(out, "HttpFields", 8 * kib, lists, [](const std::string& text) {
    (void)common::list_items(text, ';');
    http::Request request;
    request.fields["x-forwarded-for"] = text;
    http::Proxies proxies;
    proxies.networks.push_back(*common::parse_network("10.0.0.0/8"));
    (void)http::forwarded_of(request, proxies);
  });
  constexpr Shape paths[] = {
      {"Members", "$", ".a", ""},
      {"Elements", "$", "[*]", ""},
      {"Quoted", "$['", "a", ""},
      {"Brackets", "$", "[", ""},
  };
  add(out, "JsonPath", 8 * kib, paths, [](const std::string& path) {
    (void)http::JsonPath::parse(path);
    (void)http::scalar_of(path);
  });
  const auto path = *http::JsonPath::parse("$.a[*].b");
  add(out, "JsonDocument", http::json_bytes_max / 4, json_shapes,
      [path](const std::string& document) {
        (void)http::has_value(document, path, http::scalar_of("1"));
      });
  constexpr Shape encoded[] = {{"Letters", "", "QUJD", ""}, {"NoEnd", "", "=", ""}};
  add(out, "Base64", mib, encoded,
      [](const std::string& text) { (void)common::from_base64(text); });
}

void add_queue(std::vector<Case>& out) {
  constexpr Shape headers[] = {
      {"Version1", "PROXY TCP4 ", " ", ""},
      {"Version2", std::string_view("\r\n\r\n\0\r\nQUIT\n\x21\x11\x0f\xff", 16), "x", ""},
  };
  add(out, "ProxyHeader", perenniald::proxy_header_bytes_max, headers,
      [](const std::string& bytes) { (void)perenniald::read_proxy_header(bytes); });
  constexpr Shape commands[] = {
      {"Unended", "", "a", ""},
      {"Lines", "", "x\r\n", ""},
      {"CarriageReturns", "", "\r", ""},
      {"Options", "put 0 0 1 1 ", "a:b ", "\r\n"},
      {"KnownOptions", "put 0 0 1 1 ", "tube:a ", "\r\n"},
      {"Match", "flush-tube a ready match:", "age>1,", "\r\n"},
      {"Ids", "delete-batch ", "{} ", "\r\n"},
      {"Items", "put-batch 1000\r\n", "1 0 1 1\r\na\r\n", ""},
      {"Reserves", "", "reserve-with-timeout 0\r\n", ""},
      {"Watches", "", "watch t{}\r\n", ""},
      {"Puts", "", "put 0 0 1 1\r\na\r\n", ""},
      {"RefusedBody", "put 0 0 1 900000\r\n", "a", ""},
  };
  add(out, "Commands", mib, commands, read_commands);
  constexpr Shape replies[] = {
      {"Unended", "", "a", ""},
      {"Lines", "", "NOT_FOUND\r\n", ""},
      {"Ids", "INSERTED_BATCH ", "{} ", "\r\n"},
      {"Body", "RESERVED 1 900000\r\n", "a", ""},
  };
  add(out, "Replies", mib, replies, read_replies);
  constexpr Shape documents[] = {
      {"Keys", "---\n", "k{}: 1\n", ""},
      {"SameKey", "---\n", "id: 1\n", ""},
      {"Names", "---\n", "- \"t{}\"\n", ""},
      {"Jobs", "---\ncursor: 0\njobs:\n", "- id: 1\n  state: \"ready\"\n", ""},
      {"Quotes", "---\nname: \"", "\\\"", "\"\n"},
      {"Colons", "---\n", ": ", "\n"},
      {"Unended", "---\n", "a", ""},
  };
  add(out, "Documents", mib, documents, [](const std::string& text) {
    if (const auto stats = tool::StatsReply::parse(text); stats.ok()) (void)tool::to_json(*stats);
    (void)tool::parse_names(text);
    (void)tool::parse_job_list(text);
    (void)wire::parse_checkpoint(text);
    (void)wire::parse_checkpoint_failure(text);
  });
  constexpr Shape dumps[] = {
      {"Text", R"({"id":1,"body":")", "a", R"("})"},
      {"Escapes", R"({"id":1,"body":")", "\\n", R"("})"},
      {"Members", "{", R"("m{}":0,)", R"("z":0})"},
      {"Deep", R"({"id":)", "[", ""},
      {"Objects", R"({"id":[)", "{},", "{}]}"},
  };
  add(out, "Dump", 4 * mib, dumps, [](const std::string& line) {
    (void)tool::parse_header(line);
    (void)tool::parse_job(line, 2);
    (void)tool::parse_key(line);
    (void)tool::parse_footer(line, 2);
  });
}

// What another node of a cluster says, and what etcd has.
void add_cluster(std::vector<Case>& out) {
  add(out, "Records", mib, json_shapes, [](const std::string& text) {
    (void)store::cluster::decode_leader(text);
    (void)store::cluster::decode_node(text);
    (void)store::cluster::decode_copy(text);
    (void)store::cluster::decode_handover(text);
    (void)store::cluster::decode_number(text);
  });
  add(out, "Digests", mib, json_shapes,
      [](const std::string& text) { (void)tool::parse_digests("a", text); });
}

std::vector<Case> all_cases() {
  std::vector<Case> out;
  add_http(out);
  add_queue(out);
  add_cluster(out);
  return out;
}

class LinearTime : public testing::TestWithParam<Case> {};

TEST_P(LinearTime, CostsGrowAsTheBytesDo) {
  EXPECT_EQ(problem_of(GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(Parsers, LinearTime, testing::ValuesIn(all_cases()),
                         [](const auto& parser) { return parser.param.name; });

// A pattern and a name have at most 200 bytes, and each star may go back only once.
TEST(LinearTime, APatternIsTriedAtMostOnceForEachByteOfBoth) {
  std::string pattern;
  while (pattern.size() < access::pattern_bytes_max - 1) pattern += "*a";
  pattern += 'b';
  const std::string name(200, 'a');
  EXPECT_EQ(problem_of({"Patterns", mib, [](size_t bytes) { return std::string(bytes / 200, 'a'); },
                        [&](const std::string& times) {
                          for ([[maybe_unused]] const char each : times) {
                            (void)access::fits_pattern(pattern, name);
                          }
                        }}),
            "");
}

}  // namespace
}  // namespace perennial::linear_time
