// A store may have many more tables than it keeps open.

#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <system_error>

#include <gtest/gtest.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "store/store.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

constexpr JobId jobs = 640;
constexpr size_t body_bytes = 64 << 10;
constexpr uint32_t open_tables_max = 10;
// RocksDB may be writing or compacting a few more.
constexpr uint32_t open_files_max = open_tables_max + 10;

// Returns the number of open files of this process whose names have this suffix.
size_t open_files(const std::string& suffix) {
  size_t count = 0;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const std::string name = std::filesystem::read_symlink(entry.path(), gone);
    if (name.ends_with(suffix)) ++count;
  }
  return count;
}

size_t tables_in(const std::string& path) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() == ".sst") ++count;
  }
  return count;
}

class OpenTables : public testing::Test {
 protected:
  void open() {
    Options options = {.data_dir = dir_.data_dir(), .log_bytes_max = 2 << 20};
    options.compaction_bytes_max = 2 << 20;  // Tables of bodies are an eighth of it.
    options.open_tables_max = open_tables_max;
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
  }
  void put_all() {
    std::mt19937_64 random(1);
    std::string body(body_bytes, '\0');  // Random bytes do not compress.
    for (char& c : body) c = static_cast<char>(random());
    for (JobId id = 1; id <= jobs; ++id) {
      Batch batch;
      if (id == 1) batch.add(TubeStored{.tube = 1, .name = "mail"});
      const JobRow row = {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = body_bytes};
      batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
      batch.seal({.epoch = 1, .index = id, .known_durable = id - 1, .now = static_cast<Nanos>(id)});
      ASSERT_TRUE(store_->write(batch, false).ok());
    }
  }
  void expect_few_are_open() const { EXPECT_LE(open_files(".sst"), open_files_max); }

  // Damages the newest table of bodies. Returns the name of the table.
  std::string damage_an_index() const {
    std::filesystem::path path;
    uint64_t index_begin = 0;  // The end of the rows.
    for (const auto& entry : std::filesystem::directory_iterator(dir_.data_dir() + "/db")) {
      if (entry.path().extension() != ".sst" || entry.path() < path) continue;
      rocksdb::SstFileReader table((rocksdb::Options()));
      EXPECT_TRUE(table.Open(entry.path()).ok());
      const auto properties = table.GetTableProperties();
      if (properties->column_family_name != "bodies") continue;
      path = entry.path();
      index_begin = properties->data_size;
    }
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(index_begin));
    file.put('\x55').put('\x55').put('\x55');
    return path.filename();
  }

  const TempDir dir_;
  std::unique_ptr<Store> store_;
};

TEST_F(OpenTables, TheNumberOfOpenTablesIsBounded) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(put_all());
  expect_few_are_open();
  ASSERT_TRUE(store_->close(jobs + 1).ok());
  store_.reset();
  EXPECT_GT(tables_in(dir_.data_dir() + "/db"), open_files_max);

  ASSERT_NO_FATAL_FAILURE(open());
  expect_few_are_open();
  JobId loaded = 0;
  LoadSink sink;
  sink.tube = [](TubeId, std::string_view) { return Status(); };
  sink.pause = [](const TubePaused&) { return Status(); };
  sink.settings = [](const SettingsStored&) { return Status(); };
  sink.key = [](const KeyStored&) { return Status(); };
  sink.job = [&loaded](const JobRow&) {
    ++loaded;
    return Status();
  };
  ASSERT_TRUE(store_->load(sink).ok());
  EXPECT_EQ(loaded, jobs);
  for (JobId id = 1; id <= jobs; ++id) ASSERT_TRUE(store_->read_body(id).ok()) << id;
  expect_few_are_open();
}

// RocksDB alone opens only some tables at a start, and would not notice the damage.
TEST_F(OpenTables, AStartOpensEveryTable) {
  ASSERT_NO_FATAL_FAILURE(open());
  ASSERT_NO_FATAL_FAILURE(put_all());
  ASSERT_TRUE(store_->close(jobs + 1).ok());
  store_.reset();
  const std::string table = damage_an_index();
  const auto refused = Store::open({.data_dir = dir_.data_dir(), .open_tables_max = 10});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::Corruption) << refused.status().message();
  EXPECT_NE(refused.status().message().find(table), std::string::npos)
      << refused.status().message();
}

}  // namespace
}  // namespace perennial::store
