#include "cmd/perennial-bench/servers/fresh_server.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <signal.h>

#include "cmd/perennial-bench/servers/footprint.h"
#include "tests/cmd/perennial-bench/bench_servers.h"
#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

namespace fs = std::filesystem;
constexpr uint64_t page = 4096;

class AFreshServer : public testing::Test {
 protected:
  Result<std::unique_ptr<FreshServer>> start() {
    return FreshServer::start(
        {.command = command_of(kinds_of_servers().front()), .parent_dir = parent_.path()},
        signals_);
  }

  const support::TempDir parent_;
  tool::StopSignals signals_;
};

TEST_F(AFreshServer, GoesWithItsDirectory) {
  pid_t process = 0;
  {
    Result<std::unique_ptr<FreshServer>> server = start();
    ASSERT_TRUE(server.ok()) << server.status().message();
    process = (*server)->pid();
    EXPECT_EQ(::kill(process, 0), 0);
    EXPECT_TRUE(fs::exists((*server)->dir() + "/data"));
    const Result<uint64_t> resident = resident_bytes(process);
    ASSERT_TRUE(resident.ok());
    EXPECT_GT(*resident, 1U << 20);
  }
  EXPECT_EQ(::kill(process, 0), -1);
  EXPECT_TRUE(fs::is_empty(parent_.path()));
  EXPECT_FALSE(resident_bytes(process).ok());
}

TEST_F(AFreshServer, ComesBackAsAnotherProcess) {
  Result<std::unique_ptr<FreshServer>> server = start();
  ASSERT_TRUE(server.ok()) << server.status().message();
  const pid_t before = (*server)->pid();
  const Result<Nanos> took = (*server)->kill_and_restart(signals_);
  ASSERT_TRUE(took.ok()) << took.status().message();
  EXPECT_GT(*took, 0);
  EXPECT_NE((*server)->pid(), before);
  EXPECT_EQ(::kill(before, 0), -1);
}

// A pending signal stops the start, and the directory that was made for it is removed.
TEST_F(AFreshServer, StopsItsStartOnASignal) {
  ::raise(SIGTERM);
  const Result<std::unique_ptr<FreshServer>> server = start();
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().message(), "stopped by a signal");
  EXPECT_TRUE(fs::is_empty(parent_.path()));
}

TEST_F(AFreshServer, HasALibraryPreloadedWithItsDelay) {
  const std::string seen = parent_.path() + "/seen";
  Launch launch = {.command = "sh -c 'echo $LD_PRELOAD $SLOW_SYNC_US > " + seen + "' # {port}",
                   .parent_dir = parent_.path(),
                   .preload = SLOW_SYNC,
                   .preload_us = 70};
  EXPECT_FALSE(FreshServer::start(launch, signals_).ok());  // The program is no server.
  std::string line;
  std::getline(std::ifstream(seen), line);
  EXPECT_EQ(line, std::string(SLOW_SYNC) + " 70");
}

void write_file(const std::string& path, uint64_t bytes) {
  std::ofstream(path) << std::string(bytes, 'x');
}

TEST(DiskBytes, AreThoseOfAllFilesButTheLog) {
  const support::TempDir dir;
  fs::create_directories(dir.path() + "/data/db");
  const Result<DiskBytes> empty = disk_bytes(dir.path());
  ASSERT_TRUE(empty.ok());
  write_file(dir.path() + "/data/db/a", 10 * page);
  write_file(dir.path() + "/data/ballast", 5 * page);
  write_file(dir.path() + "/" + FreshServer::log_name, 100 * page);
  const Result<DiskBytes> full = disk_bytes(dir.path());
  ASSERT_TRUE(full.ok());
  EXPECT_GE(full->used, empty->used + 10 * page);
  EXPECT_LT(full->used, empty->used + 50 * page);
  EXPECT_EQ(empty->ballast, 0U);
  EXPECT_GE(full->ballast, 5 * page);
}

TEST(DiskBytes, OfAHoleAreNone) {
  const support::TempDir dir;
  const Result<DiskBytes> empty = disk_bytes(dir.path());
  write_file(dir.path() + "/hole", 0);
  fs::resize_file(dir.path() + "/hole", 1 << 30);
  const Result<DiskBytes> full = disk_bytes(dir.path());
  ASSERT_TRUE(empty.ok());
  ASSERT_TRUE(full.ok());
  EXPECT_LT(full->used, empty->used + 50 * page);
}

}  // namespace
}  // namespace perennial::bench
