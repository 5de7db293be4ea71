#include "tests/flip/work.h"

#include <array>
#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_reader.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/reader.h"
#include "store/store.h"
#include "tests/flip/specimen.h"
#include "tests/store/child.h"
#include "tests/store/salvage/damaged_dir.h"
#include "tests/store/temp_dir.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr int rounds_max = 14;
constexpr int batches_per_round = 3;
constexpr int transitions = 60;
constexpr unsigned seconds_max = 120;  // A store that hangs is ended by a signal.

enum class Did : uint8_t { Open, Submit, Write, Pass, Fail };

struct Step {
  Did did = Did::Open;
  Opening opening = {};
  BatchIndex index = 0;
  std::array<char, 600> text = {};
};

// Where the tables are kept that a store has written before one of them is damaged.
std::string fresh_tables(const WorkPlan& plan) {
  return plan.path + "-fresh";
}

Step failed(const Status& status) {
  Step step = {.did = Did::Fail};
  status.message().copy(step.text.data(), step.text.size() - 1);
  return step;
}

class Worker {
 public:
  Worker(const WorkPlan& plan, const Pipe& pipe) : plan_(plan), pipe_(pipe), model_(plan.seed) {}

  void run() {
    ::alarm(seconds_max);
    if (!plan_.is_fresh) {
      choose_block();
      replace_file(table_, read_file(table_));  // It was a hard link to that of the ground.
    }
    if (plan_.is_at_rest) harm(plan_, block_, *disk_);
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(disk_);
    auto opened = Store::open(options(env.get()));
    if (!opened.ok()) return pipe_.send(failed(opened.status()));
    store_ = opened.take();
    const Result<Image> image = read_image(*store_);
    if (!image.ok()) return pipe_.send(failed(image.status()));
    model_.begin_with(*image, store_->opening());
    pipe_.send(Step{.did = Did::Open, .opening = store_->opening()});
    if (plan_.is_fresh) {
      write();
      must(store_->flush());
      await_compactions();
      keep_tables();
      choose_block();
    } else if (!plan_.is_at_rest) {
      await_compactions();
    }
    if (!plan_.is_at_rest && !has_passed()) harm(plan_, block_, *disk_);
    work();
    if (plan_.closes) must(store_->close(model_.next_id()));
    ::_exit(0);
  }

 private:
  Options options(rocksdb::Env* env) {
    Options out = {.data_dir = plan_.path,
                   // A small one flushes by itself, too.
                   .log_bytes_max = plan_.is_fresh ? 64ULL << 20 : 64ULL << 10,
                   .env = env};
    if (plan_.has_small_tables) out.compaction_bytes_max = 1 << 20;
    // The server ends without another word, too.
    out.events.fatal = [this](const Status& status) {
      pipe_.send(failed(status));
      ::_exit(0);
    };
    return out;
  }

  void work() {
    for (int round = 0; round < rounds_max && !has_passed(); ++round) {
      write();
      must(store_->flush());
      std::atomic<bool> cancelled = false;
      if (round % 4 == 2) store_->repair_damage(cancelled);
      if (round % 4 == 3) must(store_->compact_tombstones(cancelled, 0));
      ::usleep(3000);  // A compaction may be under way.
    }
    if (has_passed()) pipe_.send(Step{.did = Did::Pass});
    write();
  }
  void choose_block() {
    block_ = block_of(plan_);
    table_ = plan_.path + "/db/" + block_.file;
  }
  // Copies the tables that are not of the ground, for block_of().
  void keep_tables() const {
    const std::string to = fresh_tables(plan_) + "/db";
    fs::remove_all(to);
    fs::create_directories(to);
    for (const auto& entry : fs::directory_iterator(plan_.path + "/db")) {
      const std::string name = entry.path().filename();
      if (!name.ends_with(".sst") || fs::exists(plan_.ground + "/db/" + name)) continue;
      // One that a compaction is writing cannot be opened yet.
      if (!rocksdb::SstFileReader{rocksdb::Options()}.Open(entry.path()).ok()) continue;
      fs::copy_file(entry.path(), to + "/" + name);
    }
  }
  // One that is under way may have read the block before. No test can see it but by its tables.
  void await_compactions() const {
    size_t same = 0;
    for (auto before = table_names(); same < 10; ::usleep(3000)) {
      auto now = table_names();
      same = now == before ? same + 1 : 0;
      before = std::move(now);
    }
  }
  std::set<std::string> table_names() const {
    std::set<std::string> out;
    for (const auto& entry : fs::directory_iterator(plan_.path + "/db")) {
      if (entry.path().extension() == ".sst") out.insert(entry.path().filename());
    }
    return out;
  }
  bool has_passed() const { return !fs::exists(table_); }
  void write() {
    for (int i = 0; i < batches_per_round; ++i) {
      Batch batch;
      model_.next(batch, transitions);
      pipe_.send(Step{.did = Did::Submit, .index = batch.index()});
      must(store_->write(batch, true));
      pipe_.send(Step{.did = Did::Write, .index = batch.index()});
    }
  }
  // After a failure another thread ends the process, at once.
  static void must(const Status& status) {
    while (!status.ok()) ::pause();
  }

  const WorkPlan& plan_;
  const Pipe& pipe_;
  StoreModel model_;
  DataBlock block_;
  std::string table_;
  const std::shared_ptr<support::BadSectors> disk_ =
      std::make_shared<support::BadSectors>(rocksdb::FileSystem::Default());
  std::unique_ptr<Store> store_;
};

void take(const Step& step, Worked& out) {
  switch (step.did) {
    case Did::Open:
      out.is_open = true;
      out.opening = step.opening;
      out.submitted = out.written = step.opening.last_index;
      break;
    case Did::Submit:
      out.submitted = step.index;
      break;
    case Did::Write:
      out.written = step.index;
      break;
    case Did::Pass:
      out.has_passed = true;
      break;
    case Did::Fail:
      out.failure = step.text.data();
      break;
  }
}

}  // namespace

void make_ground(const std::string& path, bool is_worn, uint64_t seed, JobId ended_jobs) {
  const ChildEnd end = run_child([&](const Pipe&) {
    make_dir_to_damage(path, ended_jobs);
    if (!is_worn) return;
    const auto store = Store::open({.data_dir = path});
    CHECK(store.ok());
    StoreModel model(seed);
    model.begin_with(*read_image(**store), (*store)->opening());
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < 6; ++i) {
        Batch batch;
        model.next(batch, 2 * transitions);
        CHECK((*store)->write(batch, true).ok());
      }
      // Two tables of level 0 are compacted, and here are one or two.
      if (round == 0) CHECK((*store)->flush().ok());
      if (round == 1) CHECK((*store)->flush(Family::Bodies).ok());
      if (round == 1) CHECK((*store)->flush(Family::Meta).ok());
    }
    ::_exit(0);
  });
  CHECK(end.signal == 0 && end.exit_code == 0);
}

DataBlock block_of(const WorkPlan& plan) {
  const std::vector<DataBlock> blocks = plan.is_fresh
                                            ? data_blocks_of(fresh_tables(plan), plan.family)
                                            : live_data_blocks_of(plan.ground, plan.family);
  CHECK(!blocks.empty());
  return blocks[plan.block % blocks.size()];
}

void harm(const WorkPlan& plan, const DataBlock& block, support::BadSectors& disk) {
  const std::string path = plan.path + "/db/" + block.file;
  const uint64_t place = plan.seed % block.bytes;
  if (plan.harm == Harm::Flipped) {
    flip_byte(path, block.offset + place);
  } else {
    disk.set(path, block.offset + place, 1);  // A read of a part of a sector is one of the sector.
  }
}

Worked work(const WorkPlan& plan) {
  const ChildEnd end = run_child([&](const Pipe& pipe) { Worker(plan, pipe).run(); });
  Worked out;
  for (const Step& step : end.reports<Step>()) take(step, out);
  if (end.signal != 0 || end.exit_code != 0) {
    out.problem = fmt::format("signal {}, exit code {}", end.signal, end.exit_code);
  }
  return out;
}

StoreModel model_after(const WorkPlan& plan, const Worked& worked, BatchIndex index) {
  const auto ground = Reader::open({.path = plan.ground});
  CHECK(ground.ok());
  StoreModel model(plan.seed);
  model.begin_with(*read_image(**ground), worked.opening);
  Batch batch;
  while (model.index() < index) model.next(batch, transitions);
  return model;
}

}  // namespace perennial::store
