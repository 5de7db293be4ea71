#include "tests/store/random_store.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/rocks/log_files.h"
#include "store/store.h"
#include "tests/store/child.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr int batch_transitions = 20;
constexpr int steps_max = 16;

enum class Did : uint8_t { Open, Write, Checkpoint };

// What a child sends after each step.
struct Step {
  Did did = Did::Open;
  BatchIndex index = 0;
  uint64_t epoch = 0;
  JobId next_id = 0;
};

// One process that uses the store, until it is killed.
class Life {
 public:
  Life(const RandomStore& made, uint64_t seed, const Pipe& pipe)
      : path_(made.path), pipe_(pipe), random_(seed), model_(made.model_at(made.index)) {
    checkpoints_ = made.checkpoints.size();
  }

  void run() {
    faults_ = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
    env_ = rocksdb::NewCompositeEnv(faults_);
    auto opened = Store::open({.data_dir = path_, .env = env_.get()});
    CHECK(opened.ok());
    store_ = opened.take();
    model_.reopened(store_->opening());
    send(Did::Open);
    for (int steps = 1 + below(steps_max); steps > 0; --steps) step();
    if (below(3) == 0) hang_in_a_flush();
    ::_exit(0);
  }

 private:
  int below(int bound) { return static_cast<int>(random_() % static_cast<uint64_t>(bound)); }
  void send(Did did) {
    pipe_.send(Step{.did = did,
                    .index = model_.index(),
                    .epoch = store_->opening().epoch,
                    .next_id = store_->opening().next_id});
  }

  void step() {
    const int kind = below(10);
    if (kind < 4) return write(1 + below(5));
    if (kind < 7) return flush_some();
    if (kind == 7) CHECK(store_->flush().ok());
    std::atomic<bool> cancelled = false;
    if (kind == 8) CHECK(store_->compact_tombstones(cancelled, 0).ok());
    if (kind == 9) make_checkpoint();
  }
  void write(int batches) {
    for (int i = 0; i < batches; ++i) {
      Batch batch;
      model_.next(batch, batch_transitions);
      CHECK(store_->write(batch, true).ok());
      send(Did::Write);
    }
  }
  void flush_some() {
    for (int count = 1 + below(3); count > 0; --count) {
      // Bodies most of the time, because their memtable is the first that is full.
      const Family family =
          below(2) == 0 ? Family::Bodies : static_cast<Family>(below(int{family_count}));
      CHECK(store_->flush(family).ok());
      if (below(3) == 0) write(1);
    }
  }
  void make_checkpoint() {
    const std::string dir = fmt::format("{}/checkpoints", path_);
    fs::create_directory(dir);
    CHECK(store_->create_checkpoint(fmt::format("{}/{}", dir, checkpoints_++)).ok());
    send(Did::Checkpoint);
  }
  // The flush begins a new log file if the newest has a record, and never ends.
  void hang_in_a_flush() {
    write(1);
    std::atomic<bool> hangs = false;
    faults_->set_sync_hook([&](const std::string& file) {
      if (!file.ends_with(".sst")) return;
      hangs = true;
      while (true) ::pause();
    });
    std::thread([this] { ignore(store_->flush(), "it never returns"); }).detach();
    while (!hangs) std::this_thread::yield();
    if (below(2) == 0) write(1 + below(3));
  }

  const std::string path_;
  const Pipe& pipe_;
  std::mt19937_64 random_;
  StoreModel model_;
  size_t checkpoints_ = 0;
  std::shared_ptr<support::FaultFs> faults_;
  std::unique_ptr<rocksdb::Env> env_;
  std::unique_ptr<Store> store_;
};

void take(const Step& step, RandomStore& made) {
  made.index = step.index;
  if (step.did == Did::Open) {
    made.opened.push_back({.index = step.index, .epoch = step.epoch, .next_id = step.next_id});
  }
  if (step.did == Did::Checkpoint) {
    made.checkpoints.push_back(
        {.path = fmt::format("{}/checkpoints/{}", made.path, made.checkpoints.size()),
         .index = step.index});
  }
}

}  // namespace

StoreModel RandomStore::model_at(BatchIndex at) const {
  StoreModel model(seed);
  Batch batch;
  for (const Opened& open : opened) {
    while (model.index() < std::min(at, open.index)) model.next(batch, batch_transitions);
    if (open.index <= at) model.reopened({.epoch = open.epoch, .next_id = open.next_id});
  }
  while (model.index() < at) model.next(batch, batch_transitions);
  return model;
}

RandomStore make_random_store(const std::string& path, uint64_t seed) {
  RandomStore made = {.path = path, .seed = seed};
  std::mt19937_64 random(seed);
  for (uint64_t lives = 1 + random() % 3; lives > 0; --lives) {
    const uint64_t life_seed = random();
    const ChildEnd end = run_child([&](const Pipe& pipe) { Life(made, life_seed, pipe).run(); });
    CHECK(end.signal == 0);
    CHECK(end.exit_code == 0);
    for (const Step& step : end.reports<Step>()) take(step, made);
  }
  return made;
}

std::vector<std::string> logs_of(const std::string& data_dir) {
  std::vector<std::string> logs;
  for (const auto& entry : fs::directory_iterator(data_dir + "/db")) {
    if (log_index_of(entry.path().filename().native()) != 0) logs.push_back(entry.path());
  }
  std::ranges::sort(logs);
  return logs;
}

void copy_data_dir(const std::string& from, const std::string& to) {
  fs::remove_all(to);
  fs::create_directories(to + "/db");
  for (const char* const dir : {"/", "/db/"}) {
    for (const auto& entry : fs::directory_iterator(from + dir)) {
      if (!entry.is_regular_file()) continue;
      const std::string target = to + dir + entry.path().filename().string();
      if (target.ends_with(".sst")) {
        fs::create_hard_link(entry.path(), target);
      } else {
        fs::copy_file(entry.path(), target);
      }
    }
  }
}

}  // namespace perennial::store
