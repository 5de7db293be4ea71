// What commands write to standard error: passed on unchanged, without waiting for anybody.

#include <chrono>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "cmd/perennial/work/standard_error/command_errors.h"

namespace perennial::tool::work {
namespace {

using common::Socket;

struct Pipe {
  explicit Pipe(int read_flags = 0) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::fcntl(ends[0], F_SETFL, read_flags), 0);
    read = Socket(ends[0]);
    write = Socket(ends[1]);
  }
  Socket read;
  Socket write;
};

bool is_readable(int fd, int limit_ms) {
  pollfd event{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&event, 1, limit_ms) == 1;
}

// While it exists, standard error of this process is the end of a pipe that a test reads.
class StandardErrorTest : public testing::Test {
 protected:
  StandardErrorTest() : before_(::dup(STDERR_FILENO)) {
    EXPECT_EQ(::dup2(reader_.write.fd(), STDERR_FILENO), STDERR_FILENO);
    reader_.write = Socket();
  }
  ~StandardErrorTest() override { restore(); }
  void restore() { EXPECT_EQ(::dup2(before_.fd(), STDERR_FILENO), STDERR_FILENO); }

  // Plays the runner while the command writes, until the command has nothing open any more.
  static void serve(CommandErrors& errors) {
    while (errors.fd() >= 0) {
      ASSERT_TRUE(is_readable(errors.fd(), 30'000));
      errors.on_event();
    }
  }
  std::string read(size_t bytes) {
    std::string text(bytes, '\0');
    for (size_t got = 0; got < bytes;) {
      if (!is_readable(reader_.read.fd(), 30'000)) return "nothing comes";
      const ssize_t count = ::read(reader_.read.fd(), text.data() + got, bytes - got);
      if (count <= 0) return "the end";
      got += static_cast<size_t>(count);
    }
    return text;
  }

  Socket before_;
  Pipe reader_;
  Relay relay_;
  Inlet inlet_ = Inlet::make(relay_).take();
  Pipe command_{O_NONBLOCK};
};

TEST_F(StandardErrorTest, IsPassedOnAtOnceAndItsEndIsKept) {
  CommandErrors errors(std::move(command_.read), inlet_);
  ASSERT_EQ(::write(command_.write.fd(), "one\n", 4), 4);
  errors.on_event();
  EXPECT_EQ(read(4), "one\n");
  ASSERT_TRUE(is_readable(errors.fd(), 30'000));
  errors.on_event();
  ASSERT_EQ(::write(command_.write.fd(), "two", 3), 3);
  EXPECT_EQ(errors.end(), "one\ntwo");
  EXPECT_EQ(read(3), "two");
}

TEST_F(StandardErrorTest, OfAnySizeIsUnchanged) {
  std::string all;
  for (int i = 0; all.size() < 3'000'000; ++i) all += std::to_string(i) + (i % 3 == 0 ? "\n" : " ");
  CommandErrors errors(std::move(command_.read), inlet_);
  std::thread command([&] {
    for (std::string_view rest = all; !rest.empty();) {
      const ssize_t count = ::write(command_.write.fd(), rest.data(), rest.size());
      ASSERT_GT(count, 0);
      rest.remove_prefix(static_cast<size_t>(count));
    }
    command_.write = Socket();
  });
  std::string passed_on;
  std::thread reader([&] { passed_on = read(all.size()); });
  serve(errors);
  command.join();
  reader.join();
  EXPECT_EQ(passed_on == all, true);
  EXPECT_GT(errors.end().size(), Tail::bytes_max - 100);
}

// Nobody reads: the command's pipe fills, and nothing here waits.
TEST_F(StandardErrorTest, AReaderThatStandsStillHoldsTheCommandAndNotTheRunner) {
  CommandErrors errors(std::move(command_.read), inlet_);
  ASSERT_EQ(::fcntl(command_.write.fd(), F_SETFL, O_NONBLOCK), 0);
  const std::string piece(4096, 'x');
  size_t written = 0;
  for (int quiet = 0; quiet < 3;) {
    const ssize_t count = ::write(command_.write.fd(), piece.data(), piece.size());
    if (count > 0) {
      written += static_cast<size_t>(count);
      quiet = 0;
    } else if (is_readable(errors.fd(), 100)) {
      errors.on_event();
    } else {
      ++quiet;
    }
  }
  // The pipe to the reader, one piece on its way, and the pipe of the command.
  EXPECT_LE(written, size_t{4 * 64 * 1024});
  const std::string last = errors.end();
  EXPECT_EQ(last, std::string(Tail::bytes_max, 'x'));
  EXPECT_FALSE(inlet_.is_idle());
  EXPECT_EQ(read(written), std::string(written, 'x'));
  inlet_.wait();
  EXPECT_TRUE(inlet_.is_idle());
}

// As a process does that the command has left running.
TEST_F(StandardErrorTest, AnotherWriterDoesNotProlongTheEnd) {
  CommandErrors errors(std::move(command_.read), inlet_);
  ASSERT_EQ(::write(command_.write.fd(), "last", 4), 4);
  EXPECT_EQ(errors.end(), "last");
  EXPECT_EQ(read(4), "last");
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(::write(command_.write.fd(), "late", 4), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST_F(StandardErrorTest, ThatNobodyReadsIsDropped) {
  ::signal(SIGPIPE, SIG_IGN);
  reader_.read = Socket();
  CommandErrors errors(std::move(command_.read), inlet_);
  ASSERT_EQ(::write(command_.write.fd(), "gone", 4), 4);
  command_.write = Socket();
  serve(errors);
  EXPECT_EQ(errors.end(), "gone");
}

}  // namespace
}  // namespace perennial::tool::work
