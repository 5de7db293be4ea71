#include "cmd/perenniald/process/log_writer.h"

#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string say_dropped(uint64_t lines) {
  return fmt::format("dropped {}\n", lines);
}

class LogWriterTest : public testing::Test {
 protected:
  LogWriterTest() { CHECK(pipe(pipe_) == 0); }
  ~LogWriterTest() override {
    close(pipe_[0]);
    close(pipe_[1]);
  }

  // More than the pipe and the queue hold.
  static void add_too_many(LogWriter& writer) {
    const std::string line = std::string(1023, 'x') + '\n';
    for (int i = 0; i < 3000; ++i) writer.add(line, false);
  }
  // Everything, until nothing has come for a while.
  std::string read_all(LogWriter& writer) const {
    std::string all;
    std::thread reader([&] {
      char buffer[64 << 10];
      for (ssize_t got = 0; (got = read(pipe_[0], buffer, sizeof buffer)) > 0;) {
        all.append(buffer, static_cast<size_t>(got));
        if (all.ends_with("the end\n")) return;
      }
    });
    EXPECT_TRUE(writer.flush(10 * nanos_per_second));
    writer.add("the end\n", false);
    reader.join();
    return all;
  }

  // How many lines it has said that it has dropped.
  static uint64_t said_in(const std::string& all) {
    uint64_t sum = 0;
    std::istringstream lines(all);
    for (std::string line; std::getline(lines, line);) {
      const std::string_view word = "dropped ";
      if (line.starts_with(word)) sum += std::stoull(line.substr(word.size()));
    }
    return sum;
  }

  int pipe_[2] = {-1, -1};
};

TEST_F(LogWriterTest, WritesLinesInTheirOrder) {
  LogWriter writer(pipe_[1], say_dropped);
  std::string all;
  for (int i = 0; i < 100; ++i) {
    const std::string line = fmt::format("line {}\n", i);
    writer.add(line, i % 2 == 0);
    all += line;
  }
  EXPECT_EQ(read_all(writer), all + "the end\n");
  EXPECT_EQ(writer.dropped(), 0u);
}

TEST_F(LogWriterTest, NobodyWaitsForAReaderThatHangs) {
  LogWriter writer(pipe_[1], say_dropped);
  writer.add("the first\n", false);
  add_too_many(writer);  // Would never return.
  EXPECT_FALSE(writer.flush(10 * nanos_per_ms));
  const uint64_t dropped = writer.dropped();
  EXPECT_GT(dropped, 1000u);
  writer.add("the last\n", true);
  const std::string all = read_all(writer);
  EXPECT_THAT(all, StartsWith("the first\n"));
  EXPECT_THAT(all, HasSubstr("\nthe last\n"));
  EXPECT_EQ(said_in(all), dropped) << "at once, or in two parts if its thread came in between";
  EXPECT_THAT(all, EndsWith("the end\n"));
  EXPECT_LT(all.size(), LogWriter::bytes_max * 5 / 4 + (128 << 10));
  EXPECT_EQ(writer.dropped(), dropped);
}

TEST_F(LogWriterTest, ALineThatNeverFitsIsDropped) {
  LogWriter writer(pipe_[1], say_dropped);
  writer.add(std::string(2 * LogWriter::bytes_max, 'x') + '\n', true);
  EXPECT_TRUE(writer.flush(10 * nanos_per_second));
  EXPECT_EQ(read_all(writer), "dropped 1\nthe end\n");
}

// A file that may not grow any more, as on a full disk, and later may.
TEST_F(LogWriterTest, ATornLineEndsBeforeTheNextOneAndLostLinesAreSaid) {
  signal(SIGXFSZ, SIG_IGN);
  const int file = memfd_create("log", MFD_CLOEXEC);
  ASSERT_GE(file, 0);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = 10, .rlim_max = before.rlim_max};
  LogWriter writer(file, say_dropped);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (const char* const line : {"first\n", "second\n", "third\n"}) {
    writer.add(line, false);
    EXPECT_TRUE(writer.flush(10 * nanos_per_second));
  }
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  writer.add("fourth\n", false);
  EXPECT_TRUE(writer.flush(10 * nanos_per_second));
  std::string text(200, ' ');
  text.resize(static_cast<size_t>(pread(file, text.data(), text.size(), 0)));
  EXPECT_EQ(text, "first\nseco\nfourth\ndropped 2\n");
  close(file);
}

TEST_F(LogWriterTest, AReaderThatIsGoneHoldsNobody) {
  signal(SIGPIPE, SIG_IGN);
  close(pipe_[0]);
  LogWriter writer(pipe_[1], say_dropped);
  add_too_many(writer);
  EXPECT_TRUE(writer.flush(10 * nanos_per_second));
  pipe_[0] = dup(pipe_[1]);
}

}  // namespace
}  // namespace perennial::perenniald
