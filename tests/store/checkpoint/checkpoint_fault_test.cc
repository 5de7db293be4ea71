#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/offline/restore.h"
#include "store/store.h"
#include "tests/store/child.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// Stops a checkpoint, a restore and a removal at each of their file calls, by a kill or by an
// error. What is left is complete or is recognised as partial, and the next run removes what is
// partial. Each run is in a child process: child.h.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using support::FaultFs;

constexpr int exit_killed = 99;
constexpr int batches = 6;
constexpr const char* checkpoint = "2026-11-21T12-40-05.123Z";

// The directories of one run: a data directory, its checkpoints, and the restored directory.
struct Scene {
  std::string dir;

  std::string data() const { return dir + "/data"; }
  std::string checkpoints() const { return dir + "/checkpoints"; }
  std::string whole() const { return checkpoints() + "/" + checkpoint; }
  std::string restored() const { return dir + "/restored"; }
  static CheckpointOwner owner() { return {.database = "15ecf2bf-405a-43b0-968d-aa423b74e38e"}; }
  CheckpointPlan plan(rocksdb::Env* env) const {
    return {.dir = checkpoints(),
            .name = checkpoint,
            .database = owner().database,
            .index = batches,
            .env = env};
  }
};

StoreModel world_after() {
  StoreModel model(support::seed());
  Batch batch;
  for (int i = 0; i < batches; ++i) model.next(batch, 10);
  return model;
}

void write_store(const Scene& scene) {
  auto store = Store::open({.data_dir = scene.data()});
  CHECK(store.ok());
  StoreModel model(support::seed());
  for (int i = 0; i < batches; ++i) {
    Batch batch;
    model.next(batch, 10);
    CHECK((*store)->write(batch, true).ok());
    if (i == batches / 2) CHECK((*store)->flush().ok());
  }
}

Status make_checkpoint(const Scene& scene, const std::shared_ptr<FaultFs>& fs,
                       const std::function<void()>& begin) {
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  auto store = Store::open({.data_dir = scene.data(), .env = env.get()});
  if (!store.ok()) return store.take_status();
  begin();
  const CheckpointPlan plan = scene.plan(env.get());
  if (Status done = (*store)->create_checkpoint(partial_path(plan)); !done.ok()) return done;
  const auto made = complete_checkpoint(plan);
  return made.ok() ? Status() : made.status();
}

Status restore_it(const Scene& scene, const std::shared_ptr<FaultFs>& fs,
                  const std::function<void()>& begin) {
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  begin();
  const auto restored =
      restore_checkpoint({.from = scene.whole(), .to = scene.restored(), .env = env.get()});
  return restored.ok() ? Status() : restored.status();
}

Status remove_it(const Scene& scene, const std::shared_ptr<FaultFs>& fs,
                 const std::function<void()>& begin) {
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  begin();
  return remove_checkpoint(scene.whole(), env.get());
}

// Each of these functions returns what is wrong after a run. `failed`: the run ended with an error,
// after which it must leave nothing.
std::string complete_or_partial(const Scene& scene, bool failed) {
  if (const auto store = Store::open({.data_dir = scene.data()}); !store.ok()) {
    return "the store is damaged: " + store.status().message();
  }
  if (fs::exists(scene.whole()) && !failed) {
    const auto verified = verify_checkpoint(scene.whole());
    return verified.ok() ? "" : verified.status().message();
  }
  if (fs::exists(scene.whole())) return "there is a checkpoint that failed";
  const auto removed = remove_partial_checkpoints(scene.checkpoints(), Scene::owner());
  if (!removed.ok()) return removed.status().message();
  return fs::is_empty(scene.checkpoints()) ? "" : "something is left";
}

std::string restored_or_nothing(const Scene& scene, bool failed) {
  if (failed && fs::exists(scene.restored())) return "there is a directory that failed";
  if (failed && fs::exists(scene.restored() + ".restoring")) return "something is left";
  if (!fs::exists(scene.restored())) {
    const auto again = restore_checkpoint({.from = scene.whole(), .to = scene.restored()});
    if (!again.ok()) return "it cannot be done again: " + again.status().message();
  }
  if (fs::exists(scene.restored() + ".restoring")) return "something is left";
  const auto store = Store::open({.data_dir = scene.restored()});
  return store.ok() ? difference(**store, world_after().image()) : store.status().message();
}

std::string removed_or_whole(const Scene& scene, bool) {
  if (fs::exists(scene.whole())) {
    const auto verified = verify_checkpoint(scene.whole());
    return verified.ok() ? "" : verified.status().message();
  }
  const auto removed = remove_partial_checkpoints(scene.checkpoints(), Scene::owner());
  if (!removed.ok()) return removed.status().message();
  return fs::is_empty(scene.checkpoints()) ? "" : "something is left";
}

struct Work {
  const char* name;
  bool needs_checkpoint;
  std::function<Status(const Scene&, const std::shared_ptr<FaultFs>&, const std::function<void()>&)>
      run;
  std::function<std::string(const Scene&, bool failed)> judge;
};

void PrintTo(const Work& work, std::ostream* out) {
  *out << work.name;
}

class CheckpointFault : public testing::TestWithParam<Work> {
 protected:
  CheckpointFault() {
    fs::create_directory(original_.checkpoints());
    const ChildEnd end = run_child([&](const Pipe&) {
      write_store(original_);
      if (!GetParam().needs_checkpoint) return;
      const auto fs = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
      CHECK(make_checkpoint(original_, fs, [] {}).ok());
    });
    CHECK(end.signal == 0 && end.exit_code == 0);
  }

  // Returns what is wrong after a run to which `plan` adds a fault once the run has begun.
  std::string run(const std::function<void(FaultFs&)>& plan, bool& fired) {
    const TempDir dir;
    const Scene scene = {dir.path() + "/scene"};
    fs::copy(original_.dir, scene.dir, fs::copy_options::recursive);
    const ChildEnd end = run_child([&](const Pipe& pipe) {
      const auto fs = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
      const Status done = GetParam().run(scene, fs, [&] { plan(*fs); });
      pipe.send(fs->fired());
      ::_exit(done.ok() ? 0 : 1);
    });
    const bool is_killed = end.exit_code == exit_killed || end.signal == SIGABRT;
    if (end.signal != 0 && !is_killed) return "signal " + std::to_string(end.signal);
    fired = is_killed || end.sent.find('\1') != std::string::npos;
    const bool failed = !is_killed && end.exit_code != 0;
    const ChildEnd judged = run_child([&](const Pipe& pipe) {
      const std::string problem = GetParam().judge(scene, failed);
      pipe.send_bytes(problem.data(), problem.size());
    });
    return judged.signal == 0 ? judged.sent : "the check itself died";
  }

  // Makes a run for each `step`-th call, until a run ends before its fault. Each run of the test
  // has calls of its own: the seed says with which one it begins.
  void run_all(uint64_t usual_step, const std::function<void(FaultFs&, uint64_t n)>& plan) {
    const uint64_t step = support::by_form<uint64_t>(usual_step, 1);
    bool fired = true;
    uint64_t calls = support::seed() % step;
    for (; fired; calls += step) {
      ASSERT_EQ(run([&](FaultFs& fs) { plan(fs, calls); }, fired), "") << "call " << calls;
      ASSERT_LT(calls, 2000U) << "it never ends";
    }
    std::printf("%llu calls\n", static_cast<unsigned long long>(calls));
  }

  const TempDir dir_;
  const Scene original_ = {dir_.path()};
};

TEST_P(CheckpointFault, KilledAtAnyCallLeavesNoDamage) {
  run_all(4, [](FaultFs& fs, uint64_t n) { fs.before_nth(n, [] { ::_exit(exit_killed); }); });
}

TEST_P(CheckpointFault, DiskFullAtAnyCallLeavesNoDamage) {
  // RocksDB retries some calls for a while, so these runs take longer.
  run_all(11,
          [](FaultFs& fs, uint64_t n) { fs.fail_nth(n, rocksdb::IOStatus::NoSpace("injected")); });
}

INSTANTIATE_TEST_SUITE_P(Store, CheckpointFault,
                         testing::Values(Work{"Make", false, make_checkpoint, complete_or_partial},
                                         Work{"Restore", true, restore_it, restored_or_nothing},
                                         Work{"Remove", true, remove_it, removed_or_whole}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
