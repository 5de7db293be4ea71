// The loop with real clients: bytes in any amount, several addresses, and clients that stop sending
// or reading, or disappear.

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;

std::string put(const std::string& body) {
  return fmt::format("put 0 0 60 {}\r\n{}\r\n", body.size(), body);
}

TEST(Traffic, EveryAddressServesTheSameJobs) {
  ServerProcess server({.flags = {"-l", "unix:other", "-l", "127.0.0.2"}});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string port = server.address().substr(server.address().rfind(':'));
  EXPECT_EQ(server.connect().ask(put("a")).take(), "INSERTED 1\r\n");
  for (const std::string& address : {"unix:" + server.dir() + "/other", "127.0.0.2" + port}) {
    Result<ClientSocket> client = ClientSocket::connect(address);
    ASSERT_TRUE(client.ok()) << address;
    EXPECT_EQ(client->ask("peek 1\r\n").take(), "FOUND 1 1\r\na\r\n");
  }
}

// What a web page can make a browser send to this port, and what a TLS client can be made to send.
TEST(Traffic, ForeignProtocolsRunNoCommand) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string body = put("evil");
  for (const std::string& knock :
       {fmt::format("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {}\r\n\r\n{}",
                    body.size(), body),
        std::string("\x16\x03\x01\x02\r\n") + body, "use a\r\nHOST: b\r\n" + body,
        "PROXY TCP4 192.0.2.1 192.0.2.2 4711 11300\r\n" + body}) {
    ClientSocket client = server.connect();
    ASSERT_TRUE(client.send(knock).ok());
    const Result<std::string> answers = client.read_to_end();
    // A connection that is closed with unread bytes may end in a reset.
    if (answers.ok()) {
      EXPECT_EQ(*answers, knock.starts_with("use") ? "USING a\r\n" : "");
    }
  }
  const std::string stats = server.connect().ask("stats\r\n").take();
  EXPECT_THAT(stats, HasSubstr("\ntotal-jobs: 0\n"));
  EXPECT_THAT(stats, HasSubstr("\nconnections-refused: 4\n"));
  ASSERT_TRUE(server.terminate().ok());
  EXPECT_THAT(server.stderr_text(), HasSubstr(" peer=127.0.0.1:"));
  EXPECT_THAT(server.stderr_text(), HasSubstr("speaks=tls"));
  EXPECT_THAT(server.stderr_text(), HasSubstr("speaks=proxy"));
}

TEST(Traffic, ALeftOverSocketFileIsReplaced) {
  ServerProcess server({.unix_socket = true});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ASSERT_TRUE(server.kill_now().ok());
  std::ifstream left(server.dir() + "/socket");
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_EQ(server.connect().ask("list-tube-used\r\n").take(), "USING default\r\n");
}

TEST(Traffic, BodiesOfSeveralMegabytesArrive) {
  ServerProcess server({.flags = {"-z", "8MiB"}});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  std::string body(8 << 20, 'x');
  for (size_t i = 0; i < body.size(); i += 1'000) body[i] = static_cast<char>('a' + i % 26);
  EXPECT_EQ(client.ask(put(body)).take(), "INSERTED 1\r\n");
  EXPECT_EQ(client.ask("peek 1\r\n").take(),
            fmt::format("FOUND 1 {}\r\n{}\r\n", body.size(), body));
  EXPECT_EQ(client.ask(put(body + "x")).take(), "JOB_TOO_BIG\r\n");
  ASSERT_TRUE(server.kill_now().ok());
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  client = server.connect();
  EXPECT_EQ(client.ask("reserve\r\n").take(),
            fmt::format("RESERVED 1 {}\r\n{}\r\n", body.size(), body));
}

TEST(Traffic, AClientThatReadsLateGetsEverythingInOrder) {
  ServerProcess server({.flags = {"--config", "perennial.yaml"}});
  // The limits are small, so the server stops and resumes reading many times.
  std::ofstream(server.dir() + "/perennial.yaml")
      << "output_bytes_max: 64KiB\npipeline_bytes_max: 1KiB\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  const std::string body(60'000, 'x');
  ASSERT_EQ(client.ask(put(body)).take(), "INSERTED 1\r\n");
  std::string commands;
  std::string answers;
  for (int i = 0; i < 500; ++i) {
    commands += "peek 1\r\nlist-tube-used\r\n";
    answers += fmt::format("FOUND 1 {}\r\n{}\r\nUSING default\r\n", body.size(), body);
  }
  ASSERT_TRUE(client.send(commands).ok());
  // Another client is served meanwhile.
  EXPECT_EQ(server.connect().ask("list-tubes-watched\r\n").take(), "OK 14\r\n---\n- default\n\r\n");
  EXPECT_TRUE(client.read_bytes(answers.size()).take() == answers);
  EXPECT_EQ(client.ask("list-tube-used\r\n").take(), "USING default\r\n");
}

TEST(Traffic, BodiesThatAreNotInMemoryAreRead) {
  ServerProcess server({.flags = {"--config", "perennial.yaml"}});
  std::ofstream(server.dir() + "/perennial.yaml") << "body_cache_bytes: 0\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  std::string peeks;
  std::string found;
  for (int id = 1; id <= 300; ++id) {
    const std::string body(static_cast<size_t>(id), static_cast<char>('a' + id % 26));
    ASSERT_EQ(client.ask(put(body)).take(), fmt::format("INSERTED {}\r\n", id));
    peeks += fmt::format("peek {}\r\n", id);
    found += fmt::format("FOUND {} {}\r\n{}\r\n", id, id, body);
  }
  ASSERT_TRUE(client.send(peeks).ok());
  EXPECT_EQ(client.read_bytes(found.size()).take(), found);
}

TEST(Traffic, QuitClosesAfterEarlierCommandsAreAnswered) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_TRUE(client.send(put("a") + "delete 1\r\nquit\r\n").ok());
  EXPECT_EQ(client.read_to_end().take(), "INSERTED 1\r\nDELETED\r\n");
}

TEST(Traffic, AllIsAnsweredAfterAHalfClose) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_TRUE(
      client.send(put("a") + "use b\r\n" + put("c") + "reserve\r\nreserve\r\nuse d\r\n").ok());
  client.shutdown_write();
  EXPECT_EQ(client.read_to_end().take(),
            "INSERTED 1\r\nUSING b\r\nINSERTED 2\r\nRESERVED 1 1\r\na\r\nTIMED_OUT\r\nUSING d\r\n");
}

// More bytes than the server reads while a command waits, so that some stay in the kernel.
std::string full_pipeline(size_t questions) {
  std::string commands = "reserve\r\n";
  for (size_t i = 0; i < questions; ++i) commands += "list-tube-used\r\n";
  return commands;
}
constexpr size_t many_questions = 9'000;

bool has_waiting(ClientSocket& other) {
  return other.ask("stats\r\n").take().find("\ncurrent-waiting: 1\n") != std::string::npos;
}

// The server does not read the connection then, so only the socket set can report its end.
TEST(Traffic, AHalfCloseAfterAFullPipelineEndsTheWait) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_TRUE(client.send(full_pipeline(many_questions) + "reserve\r\nuse d\r\n").ok());
  client.shutdown_write();
  std::string answers = "TIMED_OUT\r\n";
  for (size_t i = 0; i < many_questions; ++i) answers += "USING default\r\n";
  const Result<std::string> all = client.read_to_end();
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_TRUE(*all == answers + "TIMED_OUT\r\nUSING d\r\n");
}

TEST(Traffic, AResetAfterAFullPipelineReleasesItsJobs) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket other = server.connect();
  ASSERT_EQ(other.ask(put("a")).take(), "INSERTED 1\r\n");
  ClientSocket client = server.connect();
  ASSERT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  ASSERT_TRUE(client.send(full_pipeline(many_questions)).ok());
  for (int i = 0; i < 100'000 && !has_waiting(other); ++i) continue;
  ASSERT_TRUE(has_waiting(other));
  const linger at_once = {.l_onoff = 1, .l_linger = 0};
  ASSERT_EQ(setsockopt(client.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
  client.close();
  EXPECT_EQ(other.ask("reserve-with-timeout 10\r\n", 20'000).take(), "RESERVED 1 1\r\na\r\n");
}

TEST(Traffic, AResetClientHarmsNoOtherAndReleasesItsJobs) {
  ServerProcess server({.flags = {"-z", "1MiB"}});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket other = server.connect();
  ASSERT_EQ(other.ask(put(std::string(1 << 20, 'x'))).take(), "INSERTED 1\r\n");
  for (int i = 0; i < 20; ++i) {
    ClientSocket client = server.connect();
    ASSERT_EQ(client.ask("reserve\r\n", 5'000).take().substr(0, 11), "RESERVED 1 ");
    std::string peeks;
    for (int j = 0; j < 10; ++j) peeks += "peek 1\r\n";
    ASSERT_TRUE(client.send(peeks).ok());
    client.close();  // With unread bytes, so the server's writes meet a reset.
  }
  EXPECT_EQ(other.ask("reserve-with-timeout 5\r\n").take().substr(0, 11), "RESERVED 1 ");
}

TEST(Traffic, AWaitingClientGetsTheJobOfAnother) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket worker = server.connect();
  ASSERT_TRUE(worker.send("reserve\r\n").ok());
  EXPECT_EQ(server.connect().ask(put("a")).take(), "INSERTED 1\r\n");
  EXPECT_EQ(worker.read_reply().take(), "RESERVED 1 1\r\na\r\n");
}

TEST(Traffic, DelaysAndReservationsEndInTime) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  EXPECT_EQ(client.ask("reserve-with-timeout 1\r\n").take(), "TIMED_OUT\r\n");
  EXPECT_EQ(client.ask("put 0 1 1 1\r\na\r\n").take(), "INSERTED 1\r\n");
  EXPECT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  ClientSocket other = server.connect();
  EXPECT_EQ(other.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
}

// A server without requests does nothing, even while recoverable transitions wait for the idle
// time.
TEST(Traffic, AnIdleServerSleeps) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  ASSERT_EQ(client.ask(put("a")).take(), "INSERTED 1\r\n");
  ASSERT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  const auto used_ticks = [&] {
    std::ifstream file(fmt::format("/proc/{}/stat", server.pid()));
    std::string word;
    uint64_t user = 0;
    uint64_t system = 0;
    for (int i = 1; i < 14; ++i) file >> word;
    file >> user >> system;
    return user + system;
  };
  const uint64_t before = used_ticks();
  EXPECT_EQ(client.ask("reserve-with-timeout 2\r\n").take(), "TIMED_OUT\r\n");
  EXPECT_LT(used_ticks() - before, 50u);  // Of two hundred.
}

}  // namespace
}  // namespace perennial::support
