#include "store/etcd/discovery.h"

#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::store::etcd {
namespace {

using testing::ElementsAre;

std::string two_bytes(size_t number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}

// A name as DNS writes it: each part behind its length.
std::string name_bytes(const std::string& name) {
  std::string out;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find('.', begin), name.size());
    out += static_cast<char>(end - begin);
    out += name.substr(begin, end - begin);
    begin = end + 1;
  }
  return out + '\0';
}

// The answer to a question, which it repeats: records of this name, or that there is no such name.
std::string answer_to(const std::string& question, const std::vector<SrvRecord>& records) {
  constexpr size_t header_bytes = 12;
  const std::string flags =
      records.empty() ? std::string("\x81\x83", 2) : std::string("\x81\x80", 2);
  // The additional records of the question, such as that of EDNS, are not repeated.
  const size_t end = question.find('\0', header_bytes) + 5;
  std::string out = question.substr(0, 2) + flags + two_bytes(1) + two_bytes(records.size()) +
                    two_bytes(0) + two_bytes(0) + question.substr(header_bytes, end - header_bytes);
  for (const SrvRecord& record : records) {
    const std::string data = two_bytes(record.priority) + two_bytes(0) + two_bytes(record.port) +
                             name_bytes(record.host);
    out += std::string("\xc0\x0c", 2) + two_bytes(33) + two_bytes(1) +
           std::string("\0\0\0\x3c", 4) + two_bytes(data.size()) + data;
  }
  return out;
}

// A server of DNS on loopback, which knows these services.
class DnsResponder {
 public:
  using Services = std::map<std::string, std::vector<SrvRecord>>;

  explicit DnsResponder(Services services) : services_(std::move(services)) {
    socket_ = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof address;
    CHECK(::bind(socket_, reinterpret_cast<sockaddr*>(&address), bytes) == 0);
    CHECK(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &bytes) == 0);
    port_ = ntohs(address.sin_port);
    const timeval patience = {.tv_sec = 0, .tv_usec = 50'000};
    CHECK(::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0);
    thread_ = std::thread([this] { serve(); });
  }
  ~DnsResponder() {
    is_ending_ = true;
    thread_.join();
    ::close(socket_);
  }
  DnsServer server() const { return {.ipv4 = "127.0.0.1", .port = port_}; }

 private:
  void serve() {
    while (!is_ending_) {
      char bytes[512];
      sockaddr_in from = {};
      socklen_t from_bytes = sizeof from;
      const ssize_t count = ::recvfrom(socket_, bytes, sizeof bytes, 0,
                                       reinterpret_cast<sockaddr*>(&from), &from_bytes);
      if (count <= 0) continue;
      const std::string question(bytes, static_cast<size_t>(count));
      std::vector<SrvRecord> records;
      for (const auto& [name, found] : services_) {
        if (question.find(name_bytes(name)) == 12) records = found;
      }
      const std::string answer = answer_to(question, records);
      ::sendto(socket_, answer.data(), answer.size(), 0, reinterpret_cast<sockaddr*>(&from),
               from_bytes);
    }
  }

  const Services services_;
  int socket_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> is_ending_ = false;
  std::thread thread_;
};

const std::vector<SrvRecord> two = {{.priority = 20, .port = 2379, .host = "a.example.org"},
                                    {.priority = 10, .port = 2381, .host = "b.example.org"}};

TEST(Discovery, GivesTheMembersInTheOrderOfTheirPriorities) {
  const DnsResponder dns({{"_etcd-client._tcp.example.org", two}});
  const auto found = discover_endpoints("example.org", DiscoveryOf::Either, dns.server());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(*found, ElementsAre("http://b.example.org:2381", "http://a.example.org:2379"));
}

TEST(Discovery, TakesThoseWithTlsWhereThereAreAny) {
  const DnsResponder dns(
      {{"_etcd-client._tcp.example.org", two},
       {"_etcd-client-ssl._tcp.example.org", {{.port = 2379, .host = "c.example.org"}}}});
  const auto found = discover_endpoints("example.org", DiscoveryOf::Either, dns.server());
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_THAT(*found, ElementsAre("https://c.example.org:2379"));
}

// Whoever can forge answers must not lead a node away from TLS.
TEST(Discovery, NeverTakesThoseWithoutTlsWhereItIsAskedFor) {
  const DnsResponder dns({{"_etcd-client._tcp.example.org", two}});
  const auto found = discover_endpoints("example.org", DiscoveryOf::Tls, dns.server());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::NotFound);
  EXPECT_EQ(found.status().message(),
            "DNS names no member of etcd: there is no record _etcd-client-ssl._tcp.example.org");
}

TEST(Discovery, OfManyTheFirstOnesCount) {
  std::vector<SrvRecord> many;
  for (uint16_t i = 0; i <= discovered_endpoints_max; ++i)
    many.push_back({.priority = i, .port = static_cast<uint16_t>(2379 + i), .host = "a.org"});
  const DnsResponder dns({{"_etcd-client._tcp.all.org", many},
                          {"_etcd-client._tcp.most.org", {many.begin(), many.end() - 1}}});
  for (const char* domain : {"all.org", "most.org"}) {
    const auto found = discover_endpoints(domain, DiscoveryOf::Either, dns.server());
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->size(), discovered_endpoints_max);
    EXPECT_EQ(found->back(), "http://a.org:2387");
  }
}

TEST(Discovery, WhatIsNoHostIsRefused) {
  for (const SrvRecord& record :
       {SrvRecord{.port = 1, .host = "a/b.org"}, SrvRecord{.port = 1, .host = "a@b.org"},
        SrvRecord{.port = 0, .host = "a.org"}}) {
    const DnsResponder dns({{"_etcd-client._tcp.example.org", {record}}});
    const auto found = discover_endpoints("example.org", DiscoveryOf::Either, dns.server());
    ASSERT_FALSE(found.ok()) << record.host;
    EXPECT_EQ(found.status().code(), StatusCode::Corruption);
  }
}

TEST(Discovery, ADomainWithoutRecordsIsNotFound) {
  const DnsResponder dns({});
  const auto found = discover_endpoints("example.org", DiscoveryOf::Either, dns.server());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), StatusCode::NotFound);
}

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Discovery, AnAnswerThatIsCutOffIsRefused) {
  const std::string question = std::string("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00", 12) +
                               name_bytes("x.org") + two_bytes(33) + two_bytes(1);
  const std::string whole = answer_to(question, two);
  const auto parsed = parse_srv_answer(bytes_of(whole));
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->size(), 2U);
  EXPECT_EQ(parsed->front().host, "b.example.org");
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    const auto part = parse_srv_answer(bytes_of(whole).first(bytes));
    EXPECT_FALSE(part.ok()) << bytes;
  }
  // "." says that there is no such service.
  const auto none = parse_srv_answer(bytes_of(answer_to(question, {{.port = 0, .host = ""}})));
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->empty());
}

}  // namespace
}  // namespace perennial::store::etcd
