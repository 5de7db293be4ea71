#pragma once

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/damage/table_blocks.h"
#include "store/format/format.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/bad_sectors.h"

namespace perennial::store {

// A store on a disk that may be unable to read a part of one table.
class DamageFixture : public testing::Test {
 protected:
  DamageFixture()
      : disk_(std::make_shared<support::BadSectors>(rocksdb::FileSystem::Default())),
        env_(rocksdb::NewCompositeEnv(disk_)) {}
  // Its threads call the events, which write into what is declared below.
  ~DamageFixture() override { store_.reset(); }

  std::string db_path() const { return dir_.data_dir() + "/db"; }

  // Opens and loads the store. `take` gets each job.
  void open(const std::function<void(const JobRow&)>& take) {
    Options options;
    options.data_dir = dir_.data_dir();
    options.env = env_.get();
    options.scrub_bytes_per_second = 64 << 20;
    options.events.info = [this](std::string_view at, std::string_view fields) {
      const std::lock_guard lock(mutex_);
      events_ += std::string(at) + " " + std::string(fields) + "\n";
    };
    options.events.fatal = [this](const Status& status) {
      const std::lock_guard lock(mutex_);
      fatal_ += status.message() + "\n";
    };
    Result<std::unique_ptr<Store>> opened = Store::open(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    index_ = store_->opening().last_index;
    const Status loaded = store_->load({.tube = [](TubeId, std::string_view) { return Status(); },
                                        .pause = [](const TubePaused&) { return Status(); },
                                        .settings = [](const SettingsStored&) { return Status(); },
                                        .job =
                                            [&](const JobRow& row) {
                                              take(row);
                                              return Status();
                                            },
                                        .key = [](const KeyStored&) { return Status(); }});
    ASSERT_TRUE(loaded.ok()) << loaded.message();
  }

  void close() {
    ASSERT_TRUE(store_->close(1'000'000).ok());
    store_.reset();
  }

  void write(Batch& batch) {
    batch.seal(
        {.epoch = store_->opening().epoch, .index = index_ + 1, .known_durable = index_, .now = 5});
    ++index_;
    ASSERT_TRUE(store_->write(batch, false).ok());
  }

  // The tables of the family, largest first.
  std::vector<std::string> tables(Family family) const {
    std::vector<std::string> out;
    std::error_code gone;  // A compaction may delete one meanwhile.
    for (const auto& entry : std::filesystem::directory_iterator(db_path(), gone)) {
      if (entry.path().extension() != ".sst") continue;
      rocksdb::SstFileReader reader{rocksdb::Options()};
      if (!reader.Open(entry.path()).ok()) continue;
      const std::string& name = reader.GetTableProperties()->column_family_name;
      if (name == family_names[place_of(family)]) out.push_back(entry.path());
    }
    const auto bytes_of = [](const std::string& table) {
      std::error_code error;
      const uintmax_t bytes = std::filesystem::file_size(table, error);
      return error ? 0 : bytes;
    };
    std::ranges::sort(out, std::greater<>(), bytes_of);
    return out;
  }

  // The blocks of a table, all of which must be whole.
  static std::vector<TableBlock> blocks_of(const std::string& path) {
    rocksdb::SstFileReader reader{rocksdb::Options()};
    EXPECT_TRUE(reader.Open(path).ok());
    const auto keys = reader.GetTableProperties()->index_key_is_user_key != 0
                          ? IndexKeys::OfFamily
                          : IndexKeys::WithNumbers;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    EXPECT_TRUE(rocksdb::FileSystem::Default()->NewRandomAccessFile(path, {}, &file, nullptr).ok());
    Result<std::vector<TableBlock>> blocks =
        list_blocks(*file, std::filesystem::file_size(path), keys);
    EXPECT_TRUE(blocks.ok()) << blocks.status().message();
    EXPECT_EQ(blocks->size(), reader.GetTableProperties()->num_data_blocks);
    for (const TableBlock& block : *blocks) {
      EXPECT_TRUE(check_block(*file, block.offset, block.bytes).ok());
    }
    return blocks.take();
  }

  void rewrite() {
    std::atomic<bool> cancelled = false;
    store_->repair_damage(cancelled);
  }

  std::string events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  void expect_no_failure() {
    const std::lock_guard lock(mutex_);
    EXPECT_EQ(fatal_, "") << events_;
  }

  TempDir dir_;
  std::shared_ptr<support::BadSectors> disk_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Store> store_;
  BatchIndex index_ = 0;
  std::mutex mutex_;  // RocksDB's threads report, too.
  std::string events_;
  std::string fatal_;
};

// Which block of a table, and whether its bytes are wrong or cannot be read.
struct Where {
  const char* name;
  size_t first;  // Counted from the end if it is above 1,000.
  size_t count;
  bool unreadable;
};

inline void PrintTo(const Where& where, std::ostream* out) {
  *out << where.name;
}

inline auto each_where() {
  return testing::Values(Where{"First", 0, 1, false}, Where{"Middle", 5, 1, false},
                         Where{"Last", 1001, 1, false}, Where{"Neighbours", 3, 3, false},
                         Where{"UnreadableFirst", 0, 1, true},
                         Where{"UnreadableMiddle", 6, 1, true});
}

}  // namespace perennial::store
