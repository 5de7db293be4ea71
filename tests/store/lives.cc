#include "tests/store/lives.h"

#include <condition_variable>
#include <csignal>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/commit/local_log.h"
#include "store/reader.h"
#include "tests/store/dir_state.h"

namespace perennial::store {
namespace {

int transitions_of(BatchIndex index) {
  return 1 + static_cast<int>(index % 40);
}

void next_batch(World& world, Batch& batch) {
  world.next(batch, transitions_of(world.index() + 1));
}

// The loop's side of a log, as short as can be: one batch, one wait.
class Writer {
 public:
  Writer(Store& store, const Pipe& pipe) : pipe_(pipe), log_(store, [this] { wake(); }) {
    progress_.is_open = true;
    progress_.answerable = progress_.durable = progress_.submitted = store.opening().last_index;
    pipe_.send(progress_);
  }

  void commit(Batch batch) {
    progress_.submitted = batch.index();
    pipe_.send(progress_);
    if (log_.append(std::move(batch)) == Appended::UnderWay) wait();
    report();
  }
  void finish(bool fault_fired) {
    log_.stop();
    progress_.fault_fired = fault_fired;
    report();
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    is_awake_ = true;
    woken_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return is_awake_; });
    is_awake_ = false;
  }
  void report() {
    const Log::News done = log_.collect();
    progress_.answerable = done.indices.answerable();
    progress_.durable = done.indices.durable;
    pipe_.send(progress_);
  }

  const Pipe& pipe_;
  Progress progress_;
  std::mutex mutex_;  // The log's thread wakes, this one waits.
  std::condition_variable woken_;
  bool is_awake_ = false;
  LocalLog log_;
};

void write_batches(const Life& life, World world, const Pipe& pipe) {
  const auto fs = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  Options options = {.data_dir = life.data_dir,
                     .durability = life.durability,
                     .sync_interval_ms = 1,
                     .log_bytes_max = 64 << 10,  // So that tables are written all the time.
                     .env = env.get()};
  options.events.fatal = [](const Status&) { ::_exit(exit_failed); };  // As the server does.
  life.plan(*fs);
  Result<std::unique_ptr<Store>> store = Store::open(options);
  if (!store.ok()) ::_exit(exit_unopened);
  world.reopened((*store)->opening());
  Writer writer(**store, pipe);
  for (int i = 0; i < life.batches; ++i) {
    Batch batch;
    next_batch(world, batch);
    writer.commit(std::move(batch));
  }
  writer.finish(fs->fired());
  if (!(*store)->close(world.next_id()).ok()) ::_exit(exit_failed);
}

}  // namespace

ChildEnd live(const Life& life, const World& world) {
  return run_child([&](const Pipe& pipe) { write_batches(life, world, pipe); });
}

Progress last_progress(const ChildEnd& end) {
  const std::vector<Progress> all = end.reports<Progress>();
  return all.empty() ? Progress() : all.back();
}

void advance(World& world, BatchIndex index) {
  Batch batch;
  while (world.index() < index) next_batch(world, batch);
}

namespace {

// What a Reader has to say before a start changes anything.
struct Read {
  Opening opening;  // As a start would have it.
  std::string problem;
};

Read read(const std::string& data_dir, World world) {
  const auto before = state_of(data_dir);
  Read out;
  {
    const Result<std::unique_ptr<Reader>> reader = Reader::open({.path = data_dir});
    if (!reader.ok()) return {.opening = {}, .problem = reader.status().message()};
    const CommitRow& commit = (*reader)->commit();
    out.opening = {.epoch = commit.epoch + 1,
                   .last_index = commit.index,
                   .last_now = commit.now,
                   .next_id = (*reader)->next_id()};
    advance(world, commit.index);
    out.problem = difference(**reader, world.image());
  }
  if (before != state_of(data_dir)) out.problem = "it has changed something";
  return out;
}

std::string compare(const Read& read, const Opening& opening) {
  if (!read.problem.empty()) return "the reader: " + read.problem;
  const Opening& seen = read.opening;
  const bool is_same = seen.epoch == opening.epoch && seen.last_index == opening.last_index &&
                       seen.last_now == opening.last_now && seen.next_id == opening.next_id;
  return is_same ? "" : fmt::format("the reader saw commit {}", seen.last_index);
}

}  // namespace

Found examine(const std::string& data_dir, World world) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    // Killed before there was anything.
    const bool is_new = !std::filesystem::exists(data_dir + "/db");
    const Read seen = is_new ? Read() : read(data_dir, world);
    Result<std::unique_ptr<Store>> store = Store::open({.data_dir = data_dir});
    std::string problem = store.ok() ? "" : store.status().message();
    const Opening opening = store.ok() ? (*store)->opening() : Opening();
    if (store.ok()) {
      advance(world, opening.last_index);
      problem = difference(**store, world.image());
      if (problem.empty() && !is_new) problem = compare(seen, opening);
    }
    pipe.send(opening);
    pipe.send_bytes(problem.data(), problem.size());
  });
  Found found;
  if (end.signal != 0) found.problem = fmt::format("signal {} in the check", end.signal);
  if (end.sent.size() < sizeof(Opening)) return found;
  Opening opening;
  std::memcpy(&opening, end.sent.data(), sizeof opening);
  found.epoch = opening.epoch;
  found.index = opening.last_index;
  found.next_id = opening.next_id;
  if (found.problem.empty()) found.problem = end.sent.substr(sizeof opening);
  return found;
}

std::string judge(const Life& life, const ChildEnd& end, const Found& found, World& world) {
  const Progress progress = last_progress(end);
  // RocksDB has places in DB::Open that abort on an error: as good as refusing.
  const bool may_abort = !progress.is_open && end.signal == SIGABRT;
  if (end.signal != 0 && !may_abort) return fmt::format("signal {} while it wrote", end.signal);
  if (!found.problem.empty()) return found.problem;
  if (found.index > std::max(progress.submitted, world.index())) return "more than was submitted";
  const bool is_commit = life.durability == Durability::Commit;
  const BatchIndex safe = is_commit ? progress.answerable : progress.durable;
  if (found.index < safe) return fmt::format("{} is there, {} was safe", found.index, safe);
  World answered = world;
  advance(answered, progress.answerable);
  if (found.next_id < answered.next_id()) return "an id that was shown is free";
  advance(world, found.index);
  world.reopened({.epoch = found.epoch, .next_id = found.next_id});
  return "";
}

}  // namespace perennial::store
