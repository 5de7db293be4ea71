// A start that cannot succeed ends with one clear line and its own exit code.

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <dirent.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/db.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/format/format.h"
#include "store/rocks/rocksdb_versions.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;

size_t count_of(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// Starts a server that must fail to start, and checks how it ended.
void expect_refused(ServerProcess& server, int code, const std::string& wanted) {
  const Result<Ended> ended = server.start_and_wait();
  ASSERT_TRUE(ended.ok()) << server.stderr_text();
  EXPECT_EQ(ended->code, code) << server.stderr_text();
  EXPECT_EQ(ended->signal, 0);
  EXPECT_THAT(server.stderr_text(), HasSubstr(wanted));
  EXPECT_EQ(count_of(server.stderr_text(), "level=error"), 1u) << server.stderr_text();
}

// Creates a data directory by starting and stopping a server.
void make_data_dir(ServerProcess& server) {
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ASSERT_EQ(server.terminate()->code, 0) << server.stderr_text();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

TEST(Start, AMissingDataDirectoryIsCreated) {
  ServerProcess server;
  EXPECT_FALSE(std::filesystem::exists(server.data_dir()));
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string recovered = "at=store.recovered ready=0";
  EXPECT_THAT(log_with(server, recovered), HasSubstr(recovered));
  struct stat info {};
  ASSERT_EQ(stat(server.data_dir().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
}

TEST(Start, TheDefaultDataDirectoryIsPerennialData) {
  ServerProcess server({.data_dir = false});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_TRUE(std::filesystem::exists(server.dir() + "/perennial-data/db"));
}

TEST(Start, ALockedDataDirectoryEndsWith10) {
  ServerProcess first;
  ASSERT_TRUE(first.start().ok());
  ServerProcess second({.flags = {"-b", first.data_dir()}});
  expect_refused(second, 10, first.data_dir());
}

TEST(Start, ATakenPortEndsWith111BeforeTheDataDirectoryIsOpened) {
  ServerProcess first;
  ASSERT_TRUE(first.start().ok());
  const std::string port = first.address().substr(first.address().rfind(':') + 1);
  ServerProcess second({.flags = {"-p", port}});
  expect_refused(second, 111, "Address already in use");
  EXPECT_FALSE(std::filesystem::exists(second.data_dir()));
}

TEST(Start, ABadAddressEndsWith111) {
  ServerProcess far({.flags = {"-l", "203.0.113.1"}});
  expect_refused(far, 111, "203.0.113.1");
  ServerProcess no_folder({.flags = {"-l", "unix:no/such/folder"}});
  expect_refused(no_folder, 111, "no/such/folder");
}

TEST(Start, AFileThatIsNoSocketIsNotTouched) {
  ServerProcess server({.flags = {"-l", "unix:file"}});
  write_file(server.dir() + "/file", "text");
  expect_refused(server, 111, "no socket");
  EXPECT_TRUE(std::filesystem::exists(server.dir() + "/file"));
}

TEST(Start, BadUsageEndsWith5) {
  ServerProcess server({.flags = {"-p", "x"}});
  const Result<Ended> ended = server.start_and_wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 5);
  EXPECT_THAT(server.stderr_text(), HasSubstr("perenniald: -p: 'x' is no port"));
  EXPECT_FALSE(std::filesystem::exists(server.data_dir()));
}

TEST(Start, ABadConfigurationEndsWith5AndNamesEveryProblem) {
  ServerProcess server({.flags = {"--config", "perennial.yaml"}});
  write_file(server.dir() + "/perennial.yaml", "jobs_max: 1\nprot: 1\nverbosity: 4\n");
  const Result<Ended> ended = server.start_and_wait();
  ASSERT_TRUE(ended.ok());
  EXPECT_EQ(ended->code, 5);
  EXPECT_THAT(server.stderr_text(), HasSubstr("perennial.yaml:2: prot: "));
  EXPECT_THAT(server.stderr_text(),
              HasSubstr("perennial.yaml:3: verbosity: '4' is not a whole number "
                        "from 0 to 3"));
  EXPECT_FALSE(std::filesystem::exists(server.data_dir()));
}

TEST(Start, AnUnknownUserEndsWith32) {
  ServerProcess server({.flags = {"-u", "no-such-user"}});
  expect_refused(server, 32, "there is no user 'no-such-user'");
  EXPECT_FALSE(std::filesystem::exists(server.data_dir()));
}

TEST(Start, AnotherUserWithoutPrivilegesEndsWith33) {
  if (geteuid() == 0) GTEST_SKIP() << "root may become anybody";
  ServerProcess server({.flags = {"-u", "root"}});
  expect_refused(server, 33, "cannot become user 'root'");
}

TEST(Start, ADirectoryWithForeignFilesEndsWith65) {
  ServerProcess server;
  std::filesystem::create_directory(server.data_dir());
  write_file(server.data_dir() + "/letters.txt", "dear");
  expect_refused(server, 65, server.data_dir());
  EXPECT_FALSE(std::filesystem::exists(server.data_dir() + "/db"));
}

TEST(Start, ABeanstalkdDirectoryEndsWith65AndNamesTheImport) {
  ServerProcess server;
  std::filesystem::create_directory(server.data_dir());
  write_file(server.data_dir() + "/binlog.1", "");
  expect_refused(server, 65, "import-binlog");
}

TEST(Start, ANewerFormatEndsWith65) {
  ServerProcess server;
  make_data_dir(server);
  const std::string path = server.data_dir() + "/db";
  std::vector<std::string> names;
  ASSERT_TRUE(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_TRUE(store::open_db(db, rocksdb::DBOptions(), path, families, &handles).ok());
  const auto key = store::meta_key(store::MetaTag::FormatVersion);
  const auto newer = store::encode_format_version(store::format_version + 1);
  ASSERT_TRUE(db->Put({}, {key.data(), key.size()}, {newer.data(), newer.size()}).ok());
  // The job goes into the tables, because a log record that no server has written is refused for
  // another reason.
  ASSERT_TRUE(db->Flush({}, handles).ok());
  for (rocksdb::ColumnFamilyHandle* handle : handles) db->DestroyColumnFamilyHandle(handle);
  ASSERT_TRUE(db->Close().ok());
  std::filesystem::remove(server.dir() + "/stderr");
  expect_refused(server, 65, "format");
}

TEST(Start, ADamagedDatabaseEndsWith65) {
  ServerProcess server;
  make_data_dir(server);
  size_t damaged = 0;
  for (const auto& entry : std::filesystem::directory_iterator(server.data_dir() + "/db")) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    write_file(entry.path(), std::string(200, 'x'));
    ++damaged;
  }
  ASSERT_EQ(damaged, 1u);
  std::filesystem::remove(server.dir() + "/stderr");
  expect_refused(server, 65, server.data_dir());
}

TEST(Start, AnUnreadableDataDirectoryEndsWith66) {
  // Root can read everything, so root starts a server that changes to another user.
  ServerProcess server;
  if (geteuid() == 0) server.setup().flags = {"-u", "nobody"};
  std::filesystem::create_directory(server.data_dir());
  ASSERT_EQ(chmod(server.dir().c_str(), 0755), 0);
  ASSERT_EQ(chmod(server.data_dir().c_str(), geteuid() == 0 ? 0700 : 0000), 0);
  expect_refused(server, 66, "Permission denied");
  ASSERT_EQ(chmod(server.data_dir().c_str(), 0700), 0);
}

TEST(Start, AFullDiskEndsWith75) {
  // No filesystem in memory is that large.
  const std::string data_dir = "/dev/shm/perennial-full-" + std::to_string(getpid());
  ServerProcess server({.flags = {"--config", "perennial.yaml", "-b", data_dir}});
  write_file(server.dir() + "/perennial.yaml", "open_bytes_min: 1TiB\n");
  expect_refused(server, 75, "perennial-full");
  std::filesystem::remove_all(data_dir);
}

TEST(Start, AnImpossibleLowWaterMarkEndsWith5) {
  ServerProcess server({.flags = {"--config", "perennial.yaml"}});
  write_file(server.dir() + "/perennial.yaml", "low_water_bytes: 1MiB\n");
  expect_refused(server, 5, "low_water_bytes is 1048576, and must be at least");
}

TEST(Start, TheServerRunsWithTheUsersGroups) {
  if (geteuid() != 0) GTEST_SKIP() << "only root may become somebody else";
  ServerProcess server({.flags = {"-u", "nobody"}});
  ASSERT_EQ(chmod(server.dir().c_str(), 0777), 0);
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  std::ifstream file("/proc/" + std::to_string(server.pid()) + "/status");
  const std::string status((std::istreambuf_iterator<char>(file)),
                           std::istreambuf_iterator<char>());
  EXPECT_THAT(status, HasSubstr("Uid:\t65534\t65534\t65534\t65534"));
  EXPECT_THAT(status, HasSubstr("Gid:\t65534\t65534\t65534\t65534"));
  EXPECT_THAT(status, HasSubstr("Groups:\t65534"));
  EXPECT_EQ(server.connect().ask("put 0 0 9 1\r\na\r\n").take(), "INSERTED 1\r\n");
}

}  // namespace
}  // namespace perennial::support
