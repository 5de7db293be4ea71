#include "store/rocks/log_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "engine/types/check.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

using rocksdb::IOStatus;

std::string read_file(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

class LogFileTest : public testing::Test {
 protected:
  LogFileTest() {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    CHECK(fs_->NewWritableFile(path_, {}, &file, nullptr).ok());
    log_ = std::make_unique<LogFile>(std::move(file), 1, progress_);
  }

  IOStatus append(size_t bytes) {
    const std::string data(bytes, static_cast<char>('a' + appends_++ % 26));
    IOStatus status = log_->Append(data, {}, nullptr);
    if (status.ok()) want_ += data;
    return status;
  }
  void append_and_sync(size_t bytes, int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(append(bytes).ok());
      ASSERT_TRUE(log_->Sync({}, nullptr).ok());
    }
  }
  uint64_t bytes_ahead() const { return std::filesystem::file_size(path_) - want_.size(); }
  // Checks that the file has the log and then only zeros.
  void check_content() const {
    const std::string content = read_file(path_);
    ASSERT_GE(content.size(), want_.size());
    EXPECT_TRUE(content.starts_with(want_));
    EXPECT_EQ(content.find_first_not_of('\0', want_.size()), std::string::npos);
    EXPECT_EQ(log_->GetFileSize({}, nullptr), want_.size());
  }

  // The first write of zeros fails after it has written some of them.
  void check_goes_on_after(const IOStatus& failure) {
    append_and_sync(100, static_cast<int>(LogFile::syncs_per_fill_min));
    fs_->fail_nth(1, failure, support::Call::Append, true);
    append_and_sync(100, 1);
    EXPECT_TRUE(fs_->fired());
    EXPECT_EQ(bytes_ahead(), 0);
    append_and_sync(100, 10);
    check_content();
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() + "/000001.log";
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::Env::Default()->GetFileSystem());
  LogProgress progress_;
  std::unique_ptr<LogFile> log_;
  std::string want_;
  int appends_ = 0;
};

TEST_F(LogFileTest, TheFileIsFilledAheadOfTheLog) {
  append_and_sync(100, static_cast<int>(LogFile::syncs_per_fill_min));
  EXPECT_EQ(bytes_ahead(), 0);  // A log of a few records stays small.
  append_and_sync(100, 1);
  EXPECT_EQ(bytes_ahead(), LogFile::fill_bytes);
  append_and_sync(100, 100);
  EXPECT_EQ(bytes_ahead(), LogFile::fill_bytes - 100 * 100);
  check_content();
}

TEST_F(LogFileTest, TheFileIsFilledAgainWhenTheLogReachesTheEndOfTheZeros) {
  append_and_sync(1'000, 1'000);
  EXPECT_GT(bytes_ahead(), 0);
  EXPECT_LE(bytes_ahead(), LogFile::fill_bytes);
  check_content();
}

// A checkpoint may have linked and hashed the file before it is closed.
TEST_F(LogFileTest, ClosingDoesNotChangeTheFile) {
  log_->SetPreallocationBlockSize(1 << 20);
  log_->PrepareWrite(0, 100, {}, nullptr);
  append_and_sync(100, 10);
  const std::string content = read_file(path_);
  ASSERT_GT(bytes_ahead(), 0);
  ASSERT_TRUE(log_->Close({}, nullptr).ok());
  log_.reset();
  EXPECT_EQ(read_file(path_), content);
}

TEST_F(LogFileTest, TheFileIsNotFilledWhileSyncsAreFew) {
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(append(64 << 10).ok());
  EXPECT_EQ(bytes_ahead(), 0);
  append_and_sync(64 << 10, 64);
  EXPECT_EQ(bytes_ahead(), 0);
  check_content();
}

TEST_F(LogFileTest, TheFileIsFilledOnceSyncsAreManyAgain) {
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(append(64 << 10).ok());
  append_and_sync(4 << 10, 200);
  EXPECT_GT(bytes_ahead(), 0);
  check_content();
}

TEST_F(LogFileTest, TheLogGoesOnWithoutSpaceForZeros) {
  check_goes_on_after(IOStatus::NoSpace("full"));
}

TEST_F(LogFileTest, TheLogGoesOnWithoutQuotaForZeros) {
  check_goes_on_after(IOStatus::IOError("write", std::strerror(EDQUOT)));
}

TEST_F(LogFileTest, AnyOtherFailureToWriteZerosIsReported) {
  append_and_sync(100, static_cast<int>(LogFile::syncs_per_fill_min));
  fs_->fail_nth(1, IOStatus::IOError("broken"), support::Call::Append);
  EXPECT_TRUE(append(100).IsIOError());
}

// A power cut keeps the synced bytes. Other bytes either stay or are zeros again.
TEST_F(LogFileTest, APowerCutLosesNothingThatWasSynced) {
  append_and_sync(600, 15);
  const std::string synced = want_;
  ASSERT_TRUE(append(5'000).ok());
  fs_->lose_power(support::Loss::Whole);
  const std::string content = read_file(path_);
  EXPECT_TRUE(content.starts_with(synced));
  EXPECT_EQ(content.find_first_not_of('\0', synced.size()), std::string::npos);
}

}  // namespace
}  // namespace perennial::store
