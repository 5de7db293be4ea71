// Binlogs of both versions, made byte by byte, are read, replayed and written into a data
// directory.

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "migrations/binlog_import.h"
#include "store/store.h"
#include "tests/migrations/binlog_writer.h"
#include "tests/support/temp_dir.h"

namespace perennial::migrations {
namespace {

constexpr Nanos now = 1'700'000'000 * nanos_per_second;

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// The content of a data directory.
struct Content {
  std::map<JobId, JobRow> jobs;
  std::map<JobId, std::string> bodies;
  std::map<TubeId, std::string> tubes;
  JobId next_id = 0;

  std::string tube_of(JobId id) const { return tubes.at(jobs.at(id).tube); }
};

Content read_back(const std::string& dir) {
  Content content;
  Result<std::unique_ptr<store::Store>> store = store::Store::open({.data_dir = dir});
  EXPECT_TRUE(store.ok());
  content.next_id = (*store)->opening().next_id;
  store::LoadSink sink;
  sink.tube = [&](TubeId id, std::string_view name) {
    content.tubes.emplace(id, name);
    return Status();
  };
  sink.pause = [](const TubePaused&) { return Status(); };
  sink.job = [&](const JobRow& row) {
    content.jobs.emplace(row.id, row);
    return Status();
  };
  sink.settings = [](const SettingsStored&) { return Status(); };
  sink.key = [](const KeyStored&) { return Status(); };
  EXPECT_TRUE((*store)->load(sink).ok());
  for (const auto& [id, row] : content.jobs) {
    Result<Body> body = (*store)->read_body(id);
    EXPECT_TRUE(body.ok());
    content.bodies.emplace(id, body->view());
  }
  return content;
}

class ImportTest : public testing::TestWithParam<uint32_t> {
 protected:
  BinlogBytes file() const { return BinlogBytes(GetParam()); }
  void put_file(int number, const BinlogBytes& bytes) {
    write(dir_.path() + "/binlog." + std::to_string(number), bytes.bytes());
  }
  std::string to() const { return target_.path() + "/data"; }

  BinlogSummary replay() {
    Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir_.path());
    EXPECT_TRUE(binlog.ok());
    (*binlog)->replay(now);
    return (*binlog)->summary();
  }
  Content import() {
    Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir_.path());
    EXPECT_TRUE(binlog.ok());
    (*binlog)->replay(now);
    const Status written = (*binlog)->write_to(to(), now);
    EXPECT_TRUE(written.ok()) << written.message();
    return read_back(to());
  }

  support::TempDir dir_;
  support::TempDir target_{"/dev/shm"};
};

INSTANTIATE_TEST_SUITE_P(Version, ImportTest, testing::Values(5u, 7u),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(ImportTest, KeepsEveryField) {
  put_file(1, file().add({.id = 7,
                          .state = 4,
                          .tube = "mail",
                          .body = "hello",
                          .priority = 4'000'000'000,
                          .delay = 50 * nanos_per_second,
                          .ttr = 9 * nanos_per_second,
                          .created = now - nanos_per_second,
                          .deadline = now + 40 * nanos_per_second}));
  const Content content = import();
  const JobRow wanted = {.id = 7,
                         .state = JobState::Delayed,
                         .tube = content.jobs.at(7).tube,
                         .priority = 4'000'000'000,
                         .delay_s = 50,
                         .ttr_s = 9,
                         .created = now - nanos_per_second,
                         .order = static_cast<uint64_t>(now + 40 * nanos_per_second),
                         .reserves = 1,
                         .timeouts = 2,
                         .releases = 3,
                         .buries = 4,
                         .kicks = 5,
                         .body_bytes = 5};
  EXPECT_EQ(content.jobs.at(7), wanted);
  EXPECT_EQ(content.bodies.at(7), "hello");
  EXPECT_EQ(content.tube_of(7), "mail");
  EXPECT_EQ(content.next_id, 8u);
}

TEST_P(ImportTest, ReplaysInTheOrderOfFilesAndRecords) {
  put_file(2, file()
                  .add({.id = 1, .state = 0})
                  .add({.id = 2, .state = 3, .priority = 99})
                  .add({.id = 9, .state = 0}));
  put_file(10, file().add({.id = 4, .tube = "late", .body = "d"}));
  put_file(1, file()
                  .add({.id = 1, .tube = "a", .body = "one"})
                  .add({.id = 2, .tube = "a", .body = "two"})
                  .add({.id = 3, .state = 2, .tube = "default", .body = "three"}));
  const Content content = import();
  EXPECT_EQ(content.jobs.size(), 3u);
  EXPECT_EQ(content.jobs.at(2).state, JobState::Buried);
  EXPECT_EQ(content.jobs.at(2).priority, 99u);
  EXPECT_EQ(content.bodies.at(2), "two");
  EXPECT_EQ(content.tube_of(2), "a");
  EXPECT_EQ(content.jobs.at(3).state, JobState::Ready);  // A reserved job is imported as ready.
  EXPECT_EQ(content.jobs.at(3).tube, 0u);
  EXPECT_EQ(content.tube_of(4), "late");
  EXPECT_EQ(content.next_id, 10u);  // Job 9 was deleted.
}

TEST_P(ImportTest, KeepsTheOrderOfBuriedJobs) {
  put_file(1, file()
                  .add({.id = 1, .tube = "t", .body = "1"})
                  .add({.id = 2, .tube = "t", .body = "2"})
                  .add({.id = 3, .tube = "t", .body = "3"})
                  .add({.id = 3, .state = 3})
                  .add({.id = 1, .state = 3})
                  .add({.id = 2, .state = 3})
                  .add({.id = 3, .state = 1})
                  .add({.id = 3, .state = 3})
                  // beanstalkd's compaction copies a job into the newest file, which is no new
                  // burial.
                  .add({.id = 1, .state = 3, .tube = "t", .body = "1"}));
  const Content content = import();
  EXPECT_LT(content.jobs.at(1).order, content.jobs.at(2).order);
  EXPECT_LT(content.jobs.at(2).order, content.jobs.at(3).order);
}

TEST_P(ImportTest, MakesJobsReadyWhoseDelayIsOver) {
  put_file(1, file()
                  .add({.id = 1, .state = 4, .tube = "t", .deadline = now})
                  .add({.id = 2, .state = 4, .tube = "t", .deadline = now + nanos_per_second}));
  const Content content = import();
  EXPECT_EQ(content.jobs.at(1).state, JobState::Ready);
  EXPECT_EQ(content.jobs.at(2).state, JobState::Delayed);
}

TEST_P(ImportTest, CountsAndSkipsShortRecordsWithoutAJob) {
  put_file(3, file().add({.id = 5}).add({.id = 6, .tube = "t"}).zeros(500));
  put_file(4, file());
  put_file(5, BinlogBytes(0).zeros(100));
  const BinlogSummary summary = replay();
  EXPECT_EQ(summary.files, 3u);
  EXPECT_EQ(summary.records, 2u);
  EXPECT_EQ(summary.orphans, 1u);
  EXPECT_EQ(summary.jobs.ready, 1u);
  EXPECT_TRUE(summary.torn.empty());
  EXPECT_TRUE(summary.damaged.empty());
}

TEST_P(ImportTest, ReadsATruncatedFileUpToItsLastWholeRecord) {
  const BinlogBytes whole =
      file().add({.id = 1, .tube = "t", .body = "first"}).add({.id = 2, .tube = "t", .body = "x"});
  const size_t second = file().add({.id = 1, .tube = "t", .body = "first"}).bytes().size();
  for (size_t bytes = second; bytes < whole.bytes().size(); ++bytes) {
    write(dir_.path() + "/binlog.1", whole.bytes().substr(0, bytes));
    const BinlogSummary summary = replay();
    ASSERT_EQ(summary.jobs.ready, 1u) << bytes;
    ASSERT_TRUE(summary.damaged.empty()) << summary.damaged[0];
    ASSERT_EQ(summary.torn.size(), bytes == second ? 0u : 1u) << bytes;
  }
}

TEST_P(ImportTest, ImportsLargeBodies) {
  const std::string body(3 << 20, 'b');
  put_file(1, file().add({.id = 1, .tube = "t", .body = body}).add({.id = 2, .tube = "t"}));
  const Content content = import();
  EXPECT_EQ(content.bodies.at(1), body);
  EXPECT_EQ(content.bodies.at(2), "");
}

TEST_P(ImportTest, RefusesATargetDirectoryThatExists) {
  put_file(1, file());
  std::filesystem::create_directory(to());
  Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir_.path());
  ASSERT_TRUE(binlog.ok());
  (*binlog)->replay(now);
  EXPECT_EQ((*binlog)->write_to(to(), now).code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(std::filesystem::is_empty(to()));
}

// Each case has one wrong field. The record is damage, the records before it are read, and the
// summary names the field.
struct DamageCase {
  std::string name;
  LoggedJob job;
  std::string message;
};

class DamageTest : public testing::TestWithParam<DamageCase> {};

TEST_P(DamageTest, IsReportedWithItsField) {
  const support::TempDir dir;
  BinlogBytes bytes(7);
  bytes.add({.id = 1, .tube = "t"}).add(GetParam().job).add({.id = 3, .tube = "t"});
  write(dir.path() + "/binlog.1", bytes.bytes());
  Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir.path());
  ASSERT_TRUE(binlog.ok());
  (*binlog)->replay(now);
  const BinlogSummary& summary = (*binlog)->summary();
  EXPECT_EQ(summary.jobs.ready, 1u);
  ASSERT_EQ(summary.damaged.size(), 1u);
  EXPECT_NE(summary.damaged[0].find(GetParam().message), std::string::npos) << summary.damaged[0];
}

INSTANTIATE_TEST_SUITE_P(
    Damage, DamageTest,
    testing::Values(
        DamageCase{"NameTooLong", {.id = 2, .tube = std::string(201, 'a')}, "name of 201 bytes"},
        DamageCase{"NameWithSpace", {.id = 2, .tube = "a b"}, "wrong letter"},
        DamageCase{"NameWithDash", {.id = 2, .tube = "-a"}, "wrong letter"},
        DamageCase{"JobZero", {.id = 0, .tube = "t"}, "job 0"},
        DamageCase{"HighestId", {.id = UINT64_MAX, .tube = "t"}, "job 18446744073709551615"},
        DamageCase{"UnknownState", {.id = 2, .state = 5, .tube = "t"}, "state 5"},
        DamageCase{"NoTtr", {.id = 2, .tube = "t", .ttr = 0}, "time out of range"},
        DamageCase{"NegativeDelay", {.id = 2, .tube = "t", .delay = -1}, "time out of range"},
        DamageCase{"NegativeAge", {.id = 2, .tube = "t", .created = -1}, "time out of range"},
        DamageCase{"NoDeadline", {.id = 2, .state = 4, .tube = "t", .deadline = -1}, "deadline"}),
    [](const auto& test) { return test.param.name; });

TEST(Damage, ABodyWithoutCrlfIsReported) {
  const support::TempDir dir;
  std::string bytes = BinlogBytes(7).add({.id = 1, .tube = "t", .body = "abc"}).bytes();
  bytes.back() = 'X';
  write(dir.path() + "/binlog.1", bytes);
  Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir.path());
  ASSERT_TRUE(binlog.ok());
  (*binlog)->replay(now);
  ASSERT_EQ((*binlog)->summary().damaged.size(), 1u);
}

struct RefusedCase {
  std::string name;
  std::string file;
  std::string bytes;
  StatusCode code;
};

class RefusedTest : public testing::TestWithParam<RefusedCase> {};

TEST_P(RefusedTest, IsRefusedWhenTheBinlogIsOpened) {
  const support::TempDir dir;
  write(dir.path() + "/" + GetParam().file, GetParam().bytes);
  const Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir.path());
  ASSERT_FALSE(binlog.ok());
  EXPECT_EQ(binlog.status().code(), GetParam().code) << binlog.status().message();
}

INSTANTIATE_TEST_SUITE_P(
    Refused, RefusedTest,
    testing::Values(RefusedCase{"NoBinlog", "other", "x", StatusCode::NotFound},
                    RefusedCase{"NoNumber", "binlog.01", "x", StatusCode::NotFound},
                    RefusedCase{"OtherVersion", "binlog.1", std::string("\x06\0\0\0", 4),
                                StatusCode::Unsupported},
                    RefusedCase{"OtherByteOrder", "binlog.1", std::string("\0\0\0\x07", 4),
                                StatusCode::Unsupported}),
    [](const auto& test) { return test.param.name; });

// A process does not conflict with its own lock, so a child process takes it.
TEST(Lock, ABeanstalkdThatRunsPreventsTheImport) {
  const support::TempDir dir;
  write(dir.path() + "/binlog.1", BinlogBytes(7).bytes());
  write(dir.path() + "/lock", "");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open((dir.path() + "/lock").c_str(), O_RDWR);
    struct flock lock {};
    lock.l_type = F_WRLCK;
    const char locked = fcntl(file, F_SETLK, &lock) == 0 ? 'y' : 'n';
    if (::write(ready[1], &locked, 1) != 1) _exit(1);
    pause();
    _exit(0);
  }
  char locked = 'n';
  ASSERT_EQ(read(ready[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  const Result<std::unique_ptr<Binlog>> binlog = Binlog::open(dir.path());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  ASSERT_FALSE(binlog.ok());
  EXPECT_EQ(binlog.status().code(), StatusCode::Locked);
  EXPECT_TRUE(Binlog::open(dir.path()).ok());
}

}  // namespace
}  // namespace perennial::migrations
