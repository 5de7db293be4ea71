#include "store/rocks/id_memtable.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/db.h>

#include "store/format/format.h"
#include "store/rocks/rocksdb_versions.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

using Rows = std::map<uint64_t, std::string>;

std::string key_of(uint64_t id) {
  return std::string(view(job_key(id)));
}

// A database of one family on the memtable under test.
class IdMemtable : public testing::TestWithParam<IdMemtableUse> {
 protected:
  void SetUp() override { open(); }

  void open() {
    db_.reset();
    rocksdb::Options options;
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    options.write_buffer_size = 1 << 20;
    options.max_write_buffer_number = 4;
    options.memtable_factory = make_id_memtable_factory(GetParam());
    const rocksdb::Status status = open_db(db_, options, dir_.data_dir());
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  void put(uint64_t id, const std::string& value) {
    ASSERT_TRUE(db_->Put({}, key_of(id), value).ok());
  }
  void remove(uint64_t id) { ASSERT_TRUE(db_->SingleDelete({}, key_of(id)).ok()); }
  void flush() { ASSERT_TRUE(db_->Flush({}).ok()); }

  std::optional<std::string> get(uint64_t id, const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const rocksdb::Status status = db_->Get(options, key_of(id), &value);
    if (status.IsNotFound()) return std::nullopt;
    EXPECT_TRUE(status.ok()) << status.ToString();
    return value;
  }

  std::unique_ptr<rocksdb::Iterator> iterator(const rocksdb::Snapshot* snapshot = nullptr) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options));
  }

  Rows forward(rocksdb::Iterator& at) {
    Rows rows;
    for (at.SeekToFirst(); at.Valid(); at.Next()) {
      rows[*decode_job_key(Family::Ready, at.key().ToStringView())] = at.value().ToString();
    }
    EXPECT_TRUE(at.status().ok());
    return rows;
  }

  Rows backward(rocksdb::Iterator& at) {
    Rows rows;
    for (at.SeekToLast(); at.Valid(); at.Prev()) {
      rows[*decode_job_key(Family::Ready, at.key().ToStringView())] = at.value().ToString();
    }
    return rows;
  }

  void expect(const Rows& rows) {
    const std::unique_ptr<rocksdb::Iterator> at = iterator();
    EXPECT_EQ(forward(*at), rows);
    EXPECT_EQ(backward(*at), rows);
    for (uint64_t id = 0; id <= ids_max + 1; ++id) {
      const auto row = rows.find(id);
      EXPECT_EQ(get(id), row == rows.end() ? std::nullopt : std::optional(row->second)) << id;
    }
  }

  static constexpr uint64_t ids_max = 300;

  TempDir dir_;
  std::unique_ptr<rocksdb::DB> db_;
};

INSTANTIATE_TEST_SUITE_P(Uses, IdMemtable,
                         testing::Values(IdMemtableUse::FlushOnly, IdMemtableUse::Lookups),
                         [](const testing::TestParamInfo<IdMemtableUse>& use) {
                           return use.param == IdMemtableUse::Lookups ? "Lookups" : "FlushOnly";
                         });

TEST_P(IdMemtable, ANewMemtableIsEmpty) {
  expect({});
  flush();
  expect({});
}

TEST_P(IdMemtable, SortsByIdAsANumber) {
  const std::vector<uint64_t> ids = {256, 1, 0, 255, uint64_t{1} << 40, ~uint64_t{0}, 65536, 2};
  for (const uint64_t id : ids) put(id, std::to_string(id));
  for (const bool flushed : {false, true}) {
    if (flushed) flush();
    const auto at = iterator();
    std::vector<uint64_t> found;
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found.push_back(std::stoull(at->value().ToString()));
    }
    EXPECT_EQ(found,
              (std::vector<uint64_t>{0, 1, 2, 255, 256, 65536, uint64_t{1} << 40, ~uint64_t{0}}));
  }
}

TEST_P(IdMemtable, SeeksBetweenIds) {
  for (const uint64_t id : {10, 20, 30}) put(id, std::to_string(id));
  remove(20);
  const auto at = iterator();
  const auto seek = [&](uint64_t id) {
    at->Seek(key_of(id));
    return at->Valid() ? at->value().ToString() : "end";
  };
  const auto seek_back = [&](uint64_t id) {
    at->SeekForPrev(key_of(id));
    return at->Valid() ? at->value().ToString() : "end";
  };
  EXPECT_EQ(seek(0), "10");
  EXPECT_EQ(seek(10), "10");
  EXPECT_EQ(seek(11), "30");
  EXPECT_EQ(seek(31), "end");
  EXPECT_EQ(seek_back(9), "end");
  EXPECT_EQ(seek_back(10), "10");
  EXPECT_EQ(seek_back(29), "10");
  EXPECT_EQ(seek_back(99), "30");
}

TEST_P(IdMemtable, ASnapshotSeesTheRowsOfItsTime) {
  put(1, "first");
  const rocksdb::Snapshot* const before = db_->GetSnapshot();
  remove(1);
  const rocksdb::Snapshot* const between = db_->GetSnapshot();
  put(1, "second");
  for (const bool flushed : {false, true}) {
    if (flushed) flush();
    EXPECT_EQ(get(1, before), "first");
    EXPECT_EQ(get(1, between), std::nullopt);
    EXPECT_EQ(get(1), "second");
    EXPECT_EQ(forward(*iterator(before)), (Rows{{1, "first"}}));
    EXPECT_EQ(forward(*iterator(between)), Rows{});
  }
  db_->ReleaseSnapshot(before);
  db_->ReleaseSnapshot(between);
}

TEST_P(IdMemtable, InsertsDoNotChangeAnIterator) {
  for (uint64_t id = 0; id < 100; ++id) put(id, "old");
  const auto at = iterator();
  at->Seek(key_of(50));
  for (uint64_t id = 100; id < 200; ++id) put(id, "new");
  flush();
  uint64_t rows = 0;
  for (; at->Valid(); at->Next(), ++rows) EXPECT_EQ(at->value().ToString(), "old");
  EXPECT_EQ(rows, 50U);
}

// Rows are put and deleted at random by the rules of SingleDelete: one put, one delete. The result
// is compared with a map, after flushes and after ends that leave all rows to the log.
TEST_P(IdMemtable, AgreesWithAMap) {
  std::mt19937_64 random(20261121);
  Rows rows;
  for (int step = 1; step <= 6000; ++step) {
    const uint64_t id = random() % ids_max;
    if (rows.erase(id) > 0) {
      remove(id);
    } else {
      rows[id] = std::string(random() % 40, static_cast<char>('a' + step % 26));
      put(id, rows[id]);
    }
    if (step % 500 != 0) continue;
    expect(rows);
    if (step % 1500 == 0) flush();
    if (step % 2000 == 0) open();
    expect(rows);
  }
}

// Another format may have keys of any length, and some of them have the length of ids.
TEST_P(IdMemtable, KeysThatAreNoIdsAreSortedToo) {
  std::mt19937_64 random(7);
  std::map<std::string, std::string> rows;
  for (int step = 0; step < 1000; ++step) {
    const std::string key = std::string(random() % 12, static_cast<char>(random() % 3));
    const std::string value = std::to_string(step);
    if (rows.erase(key) > 0) {
      ASSERT_TRUE(db_->SingleDelete({}, key).ok());
    } else {
      ASSERT_TRUE(db_->Put({}, key, value).ok());
      rows[key] = value;
    }
    if (step % 100 != 99) continue;
    if (step % 300 == 299) flush();
    std::map<std::string, std::string> found;
    const auto at = iterator();
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      found[at->key().ToString()] = at->value().ToString();
    }
    EXPECT_EQ(found, rows);
    for (const auto& [key_there, value_there] : rows) {
      std::string got;
      EXPECT_TRUE(db_->Get({}, key_there, &got).ok());
      EXPECT_EQ(got, value_there);
      at->Seek(key_there + '\0');
      const auto next = rows.upper_bound(key_there);
      ASSERT_EQ(at->Valid(), next != rows.end());
      if (next == rows.end()) continue;
      EXPECT_EQ(at->key().ToString(), next->first);
    }
  }
}

// A memtable is full after 4,000 rows here, and is flushed while other threads read.
TEST_P(IdMemtable, IsReadWhileItIsWrittenAndFlushed) {
  constexpr uint64_t rows = 40'000;
  const std::string body(200, 'b');
  std::atomic<uint64_t> written = 0;
  std::atomic<uint64_t> reads = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<uint64_t>(i));
      while (written < rows) {
        const uint64_t below = written;
        if (below == 0) continue;
        // With FlushOnly a lookup scans each entry.
        if (GetParam() == IdMemtableUse::FlushOnly && reads > 500) continue;
        const uint64_t id = random() % below;
        ASSERT_EQ(get(id), std::to_string(id) + body);
        ++reads;
      }
    });
  }
  for (uint64_t id = 0; id < rows; ++id) {
    put(id, std::to_string(id) + body);
    ++written;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(reads, 0U);
  flush();
  EXPECT_EQ(forward(*iterator()).size(), rows);
}

TEST_P(IdMemtable, CountsItsMemory) {
  const auto memory = [this] {
    uint64_t bytes = 0;
    EXPECT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kCurSizeActiveMemTable, &bytes));
    return bytes;
  };
  const uint64_t before = memory();
  for (uint64_t id = 0; id < 1000; ++id) put(id, "row");
  EXPECT_GE(memory() - before, 1000U * 24);
}

}  // namespace
}  // namespace perennial::store
