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

// A checkpoint must change nothing of what a start finds.
constexpr int batches_per_checkpoint = 15;

int transitions_of(BatchIndex index) {
  return 1 + static_cast<int>(index % 40);
}

void next_batch(StoreModel& model, Batch& batch) {
  model.next(batch, transitions_of(model.index() + 1));
}

// Does the loop's part of a log in the simplest way: it appends a batch and waits for it.
class Writer {
 public:
  Writer(Store& store, const Pipe& pipe) : pipe_(pipe), log_(store, [this] { wake(); }) {
    progress_.is_open = true;
    progress_.reply_index = progress_.durable = progress_.submitted = store.opening().last_index;
    pipe_.send(progress_);
  }

  void commit(Batch batch) {
    progress_.submitted = batch.index();
    pipe_.send(progress_);
    log_.append(std::move(batch));
    wait();
    report();
  }
  // Whether it can be made is no matter here.
  void create_checkpoint(const std::string& dir) {
    log_.checkpoint(dir);
    wait();
    log_.collect();
  }
  void finish(bool fault_fired) {
    log_.stop();
    progress_.fault_fired = fault_fired;
    report();
  }

 private:
  void wake() {
    const std::lock_guard lock(mutex_);
    woken_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return log_.idle(); });
  }
  void report() {
    const Log::Update done = log_.collect();
    progress_.reply_index = done.indices.reply_index();
    progress_.durable = done.indices.durable;
    pipe_.send(progress_);
  }

  const Pipe& pipe_;
  Progress progress_;
  std::mutex mutex_;  // For woken_, which signals that idle() may have changed.
  std::condition_variable woken_;
  LocalLog log_;
};

void write_batches(const Life& life, StoreModel model, const Pipe& pipe) {
  const auto fs = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
  Options options = {.data_dir = life.data_dir,
                     .durability = life.durability,
                     .sync_interval_ms = 1,
                     .log_bytes_max = 64 << 10,  // A small log makes the store write tables often.
                     .env = env.get()};
  options.events.fatal = [](const Status&) { ::_exit(exit_failed); };  // As the server does.
  life.plan(*fs);
  Result<std::unique_ptr<Store>> store = Store::open(options);
  if (!store.ok()) ::_exit(exit_unopened);
  model.reopened((*store)->opening());
  Writer writer(**store, pipe);
  for (int i = 0; i < life.batches; ++i) {
    Batch batch;
    next_batch(model, batch);
    writer.commit(std::move(batch));
    if ((i + 1) % batches_per_checkpoint == 0) {
      writer.create_checkpoint(fmt::format("{}-{}-{}", life.data_dir, ::getpid(), i));
    }
  }
  writer.finish(fs->fired());
  if (!(*store)->close(model.next_id()).ok()) ::_exit(exit_failed);
}

}  // namespace

ChildEnd live(const Life& life, const StoreModel& model) {
  return run_child([&](const Pipe& pipe) { write_batches(life, model, pipe); });
}

Progress last_progress(const ChildEnd& end) {
  const std::vector<Progress> all = end.reports<Progress>();
  return all.empty() ? Progress() : all.back();
}

void advance(StoreModel& model, BatchIndex index) {
  Batch batch;
  while (model.index() < index) next_batch(model, batch);
}

namespace {

// What a Reader finds before a start changes anything.
struct Read {
  Opening opening;  // The values that a start would find.
  std::string problem;
};

Read read(const std::string& data_dir, StoreModel model) {
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
    advance(model, commit.index);
    out.problem = difference(**reader, model.image());
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

Found examine(const std::string& data_dir, StoreModel model) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    // The child was killed before it had made the directory.
    const bool is_new = !std::filesystem::exists(data_dir + "/db");
    const Read seen = is_new ? Read() : read(data_dir, model);
    Result<std::unique_ptr<Store>> store = Store::open({.data_dir = data_dir});
    std::string problem = store.ok() ? "" : store.status().message();
    const Opening opening = store.ok() ? (*store)->opening() : Opening();
    if (store.ok()) {
      advance(model, opening.last_index);
      problem = difference(**store, model.image());
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

std::string judge(const Life& life, const ChildEnd& end, const Found& found, StoreModel& model) {
  const Progress progress = last_progress(end);
  // Some errors make RocksDB's DB::Open abort the process. That counts as a refusal.
  const bool may_abort = !progress.is_open && end.signal == SIGABRT;
  if (end.signal != 0 && !may_abort) return fmt::format("signal {} while it wrote", end.signal);
  if (!found.problem.empty()) return found.problem;
  if (found.index > std::max(progress.submitted, model.index())) return "more than was submitted";
  const bool is_commit = life.durability == Durability::Commit;
  const BatchIndex safe = is_commit ? progress.reply_index : progress.durable;
  if (found.index < safe) return fmt::format("{} is there, {} was safe", found.index, safe);
  StoreModel answered = model;
  advance(answered, progress.reply_index);
  if (found.next_id < answered.next_id()) return "an id that was shown is free";
  advance(model, found.index);
  model.reopened({.epoch = found.epoch, .next_id = found.next_id});
  return "";
}

}  // namespace perennial::store
