// Answers that may each reach the limit for all of them: bodies and listings that many clients
// request at once and do not read.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

// Small, so that little of an answer fits into the clients' sockets.
constexpr int receive_bytes = 16'384;

class LargeAnswers : public Overloaded {
 protected:
  // Each client of the crowd sends this question and reads nothing until the server's memory stops
  // growing. Then each client must receive this answer.
  template <typename Question, typename Answer>
  void ask_all(size_t clients, Question question, Answer answer) {
    Status status = crowd_.connect(server_.address(), clients, receive_bytes);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < clients; ++i) crowd_.say(i, question(i), 1);
    status = crowd_.press();
    ASSERT_TRUE(status.ok()) << status.message();
    await_steady_memory();
    status = crowd_.finish([&](size_t client, std::string_view reply) {
      return reply == answer(client) ? std::string() : fmt::format("{}...", reply.substr(0, 80));
    });
    EXPECT_TRUE(status.ok()) << status.message();
    crowd_.leave();
  }
  static std::string found(uint64_t id, size_t bytes) {
    return fmt::format("FOUND {} {}\r\n{}\r\n", id, bytes, std::string(bytes, 'x'));
  }
};

TEST_F(LargeAnswers, OfOneBodyAreOneReadAndOneCopy) {
  const size_t body_bytes = sizes().body_bytes / 8;
  ASSERT_NO_FATAL_FAILURE(
      start(fmt::format("job_bytes_max: {}\nbody_cache_bytes: 0\noutput_total_bytes_max: 64MiB\n"
                        "memory_bytes_max: {}\n",
                        body_bytes, 32 * body_bytes)));
  ASSERT_EQ(server_.connect().ask(put_of(body_bytes), 60'000).take(), "INSERTED 1\r\n");
  ASSERT_NO_FATAL_FAILURE(begin(true));
  const std::string answer = found(1, body_bytes);
  ask_all(
      40, [](size_t /*client*/) { return std::string("peek 1\r\n"); },
      [&](size_t /*client*/) -> const std::string& { return answer; });
  await("current-connections", 2);
  end(4 * body_bytes + 32 * mib);
  // Covers the copy and what RocksDB needs to read it. The contents of sockets are not in the
  // server's memory.
  EXPECT_LT(peak_bytes_, 5 * body_bytes + 32 * mib);
}

TEST_F(LargeAnswers, OfManyBodiesAreBoundedTogether) {
  constexpr size_t body_bytes = 8 << 20;
  constexpr uint64_t jobs = 20;
  ASSERT_NO_FATAL_FAILURE(start(fmt::format(
      "job_bytes_max: {}\nbody_cache_bytes: 0\noutput_total_bytes_max: 32MiB\n", body_bytes)));
  for (uint64_t id = 1; id <= jobs; ++id) {
    ASSERT_EQ(server_.connect().ask(put_of(body_bytes), 60'000).take(),
              fmt::format("INSERTED {}\r\n", id));
  }
  ASSERT_NO_FATAL_FAILURE(begin());
  ask_all(
      jobs, [](size_t client) { return fmt::format("peek {}\r\n", client + 1); },
      [](size_t client) { return found(client + 1, body_bytes); });
  await("current-connections", 2);
  end(96 * mib);
  EXPECT_LT(peak_bytes_, 32 * mib + 80 * mib);
}

TEST_F(LargeAnswers, ThatListTubesAreBoundedTogether) {
  constexpr size_t clients = 12;
  constexpr int tubes = 60'000;
  const std::string filling(190, 't');
  ASSERT_NO_FATAL_FAILURE(start("output_total_bytes_max: 16MiB\n"));
  support::ClientSocket watcher = server_.connect();
  std::string listing = "---\n- default\n";
  std::string watches;
  for (int i = 0; i < tubes; ++i) {
    const std::string name = fmt::format("{}{}", i, filling);
    listing += fmt::format("- {}\n", name);
    watches += fmt::format("watch {}\r\n", name);
    if ((i + 1) % 1'000 != 0) continue;
    ASSERT_TRUE(watcher.send(watches).ok());
    for (int answer = i + 1 - 1'000; answer <= i; ++answer) {
      ASSERT_EQ(watcher.read_reply().take(), fmt::format("WATCHING {}\r\n", answer + 2));
    }
    watches.clear();
  }
  // The probe has its own tube, which is the last one or does not exist.
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), clients, receive_bytes);
  ASSERT_TRUE(status.ok()) << status.message();
  for (size_t i = 0; i < clients; ++i) crowd_.say(i, "list-tubes\r\n", 1);
  status = crowd_.press();
  ASSERT_TRUE(status.ok()) << status.message();
  await_steady_memory();
  status = crowd_.finish([&](size_t /*client*/, std::string_view reply) {
    const size_t line = reply.find("\r\n") + 2;
    const bool right = reply.starts_with("OK ") && reply.substr(line).starts_with(listing);
    return right ? std::string() : fmt::format("{}...", reply.substr(0, 80));
  });
  EXPECT_TRUE(status.ok()) << status.message();
  crowd_.leave();
  watcher.close();
  await("current-connections", 2);
  end(160 * mib);
  // Covers two listings, one of which is being made, as text, in the answer and as names.
  EXPECT_LT(peak_bytes_, 16 * mib + 6 * listing.size());
}

}  // namespace
}  // namespace perennial::overload
