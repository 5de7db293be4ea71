#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include "store/commit/local_log.h"
#include "store/space/write_backlog.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

struct WriteBacklogCase {
  const char* name;
  bool before;
  WriteBacklog backlog;
  bool want;
};

void PrintTo(const WriteBacklogCase& backlog, std::ostream* out) {
  *out << backlog.name;
}

class WriteBacklogTable : public testing::TestWithParam<WriteBacklogCase> {};

TEST_P(WriteBacklogTable, DecidesWhetherPutsWait) {
  EXPECT_EQ(must_stall(GetParam().before, GetParam().backlog), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Store, WriteBacklogTable,
    testing::Values(WriteBacklogCase{"None", false, {}, false},
                    WriteBacklogCase{"TwoMemtables", false, {.memtables = 2}, false},
                    WriteBacklogCase{"ThreeMemtables", false, {.memtables = 3}, true},
                    WriteBacklogCase{"StillTwo", true, {.memtables = 2}, true},
                    WriteBacklogCase{"DownToOne", true, {.memtables = 1}, false},
                    WriteBacklogCase{"FewTables", false, {.tables = 39}, false},
                    WriteBacklogCase{"ManyTables", false, {.tables = 40}, true},
                    WriteBacklogCase{"StillMany", true, {.tables = 30}, true},
                    WriteBacklogCase{"DownToFewer", true, {.tables = 29}, false}),
    [](const testing::TestParamInfo<WriteBacklogCase>& param) { return param.param.name; });

// A store whose table files cannot be synced until let_flush(), so that no flush ends before.
class FlushesHeldUp : public testing::Test {
 protected:
  void SetUp() override {
    Options options;
    options.data_dir = dir_.data_dir();
    options.env = env_.get();
    options.events.info = [this](std::string_view at, std::string_view fields) {
      const std::lock_guard lock(mutex_);
      if (at == "store.behind" || at == "store.caught_up") events_.emplace_back(at);
      if (fields.find("Stall") != std::string_view::npos) events_.emplace_back(fields);
      if (fields.find("Stopping writes") != std::string_view::npos) events_.emplace_back(fields);
    };
    Result<std::unique_ptr<Store>> store = Store::open(options);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = store.take();
    fs_->set_sync_hook([this](const std::string& path) {
      std::unique_lock lock(mutex_);
      if (path.ends_with(".sst")) changed_.wait(lock, [this] { return may_flush_; });
    });
    log_ = std::make_unique<LocalLog>(*store_, [this] {
      const std::lock_guard lock(mutex_);
      changed_.notify_all();
    });
    add_tube();
  }

  void TearDown() override { let_flush(); }

  void let_flush() {
    const std::lock_guard lock(mutex_);
    may_flush_ = true;
    changed_.notify_all();
  }

  void add_tube() {
    Batch batch;
    batch.add(TubeStored{.tube = 1, .name = "mail"});
    commit(std::move(batch));
  }

  void put(JobId id) {
    Batch batch;
    batch.add(JobMoved{.id = id, .before = {}, .after = row(id), .promised = true}, body_);
    commit(std::move(batch));
  }

  void remove(JobId id) {
    Batch batch;
    batch.add(JobMoved{.id = id, .before = JobState::Ready, .after = {}, .promised = true});
    commit(std::move(batch));
  }

  std::vector<std::string> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }

  // Waits until the collected state of the write stall is `stalled`.
  void await_stalled(bool stalled) {
    std::unique_lock lock(mutex_);
    while (collected_stalled() != stalled) changed_.wait_for(lock, std::chrono::milliseconds(10));
  }

  static constexpr uint32_t body_bytes = 1 << 20;

  const TempDir dir_;
  const std::shared_ptr<support::FaultFs> fs_ =
      std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(fs_);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool may_flush_ = false;
  std::vector<std::string> events_;
  const std::string body_ = std::string(body_bytes, 'b');  // Batches do not own bodies.
  BatchIndex next_index_ = 1;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LocalLog> log_;

 private:
  static JobRow row(JobId id) {
    return {.id = id, .tube = 1, .ttr_s = 1, .body_bytes = body_bytes};
  }

  bool collected_stalled() { return log_->collect().store.write_stalled; }

  // Appends the batch and waits until it is written.
  void commit(Batch&& batch) {
    batch.seal({.epoch = 1, .index = next_index_, .known_durable = next_index_ - 1, .now = 1});
    log_->append(std::move(batch));
    std::unique_lock lock(mutex_);
    while (!log_->idle()) changed_.wait_for(lock, std::chrono::milliseconds(1));
    ++next_index_;
  }
};

// Issue 5: "if RocksDB slows writers down, puts are slowed first and deletes never".
TEST_F(FlushesHeldUp, DeletesAreWrittenWhilePutsWait) {
  JobId last = 0;
  while (!log_->collect().store.write_stalled) {
    put(++last);
    ASSERT_LT(last, 200U) << "it does not see that nothing is flushed";
  }
  EXPECT_EQ(log_->collect().store.facts.state, "behind");
  EXPECT_GE(last, 64U);  // Two full memtables do not make puts wait.
  for (JobId id = 1; id <= last; ++id) remove(id);
  EXPECT_EQ(events(), std::vector<std::string>{"store.behind"});
  let_flush();
  await_stalled(false);
  EXPECT_EQ(log_->collect().store.facts.state, "ok");
  EXPECT_EQ(events(), (std::vector<std::string>{"store.behind", "store.caught_up"}));
}

}  // namespace
}  // namespace perennial::store
