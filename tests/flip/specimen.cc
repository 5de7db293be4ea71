#include "tests/flip/specimen.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <thread>

#include <rocksdb/env.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "tests/store/child.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr int transitions = 20;
constexpr int batches_of_first_run = 60;
constexpr int batches_of_second_run = 40;
constexpr int logs_at_end = 2;
constexpr int batches_per_log = 10;  // In the last logs of a killed run.

void write_batches(Store& store, StoreModel& model, int count) {
  const bool syncs_each = store.options().durability == Durability::Commit;
  for (int i = 0; i < count; ++i) {
    Batch batch;
    model.next(batch, transitions);
    CHECK(store.write(batch, syncs_each || batch.must_sync()).ok());
  }
}

// Starts a flush that never ends: it has begun a new log file, and the older ones must stay.
void flush_forever(Store& store) {
  const uint64_t newest = store.log_files().newest_index;
  std::thread([&store] { ignore(store.flush(), "it never returns"); }).detach();
  while (store.log_files().newest_index == newest) std::this_thread::yield();
}

// Lets this many tables be synced and blocks the next sync. A flush writes one family after the
// other, so the tables that were synced are in the MANIFEST.
class TableStop {
 public:
  TableStop(support::FaultFs& faults, int allowed) : allowed_(allowed) {
    faults.set_sync_hook([this](const std::string& file) {
      if (!file.ends_with(".sst") || begun_++ < allowed_) return;
      while (true) ::pause();
    });
  }
  void wait() const {
    while (begun_ <= allowed_) std::this_thread::yield();
  }

 private:
  const int allowed_;
  std::atomic<int> begun_ = 0;
};

// The end of a killed run: several log files. In the modes that do not sync each batch only the
// first is synced, or none.
void write_logs(Store& store, StoreModel& model, const TableStop& tables) {
  for (int log = 0; log < logs_at_end; ++log) {
    flush_forever(store);
    if (log == 0) tables.wait();
    write_batches(store, model, batches_per_log);
    if (log == 0 && store.options().durability == Durability::Interval) CHECK(store.sync().ok());
  }
}

// Runs a store in a child process. The parent must not run RocksDB, because it forks.
void run_store(const std::string& path, StoreModel model, int batches, const SpecimenKind& kind) {
  const ChildEnd end = run_child([&](const Pipe&) {
    const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
    // A small log makes many tables. With a large one the test decides when a new log file begins.
    const uint64_t log_bytes_max = kind.stop == Stop::Clean ? 64 << 10 : 64 << 20;
    auto store = Store::open({.data_dir = path,
                              .durability = kind.durability,
                              .log_bytes_max = log_bytes_max,
                              .env = env.get()});
    CHECK(store.ok());
    model.reopened((*store)->opening());
    write_batches(**store, model, batches / 2);
    CHECK((*store)->flush().ok());
    write_batches(**store, model, batches - batches / 2);
    if (kind.stop == Stop::Clean) {
      CHECK((*store)->close(model.next_id()).ok());
      return;
    }
    const TableStop tables(*faults, kind.stop == Stop::PartlyFlushed ? 1 : 0);
    write_logs(**store, model, tables);
    ::_exit(0);
  });
  CHECK(end.signal == 0 && end.exit_code == 0);
}

// Returns a lower bound: what the last completed flush had written into tables.
BatchIndex durable_of(const SpecimenKind& kind, BatchIndex last) {
  if (kind.durability == Durability::Commit || kind.stop == Stop::Clean) return last;
  if (kind.durability == Durability::Interval) return last - batches_per_log;
  return batches_of_first_run + batches_of_second_run / 2;
}

std::vector<SpecimenFile> list_files(const std::string& path) {
  std::vector<SpecimenFile> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    files.push_back({.name = fs::relative(entry.path(), path), .bytes = entry.file_size()});
  }
  std::ranges::sort(files, {}, &SpecimenFile::name);
  return files;
}

}  // namespace

// The state in the child is lost when it exits, but the same steps rebuild it.
StoreModel Specimen::model_at(BatchIndex index) const {
  StoreModel again(seed);
  Batch batch;
  while (again.index() < index) {
    again.next(batch, transitions);
    // The clean stop between the runs has stored the exact next id.
    if (again.index() == batches_of_first_run)
      again.reopened({.epoch = 2, .next_id = again.next_id()});
  }
  return again;
}

std::string Specimen::newest_log() const {
  std::string newest;
  for (const SpecimenFile& file : files) {
    if (kind_of(file.name) == "log") newest = std::max(newest, file.name);
  }
  return newest;
}

Specimen make_specimen(const std::string& path, const SpecimenKind& kind, uint64_t seed) {
  Specimen specimen = {.path = path, .kind = kind, .seed = seed};
  run_store(path, StoreModel(seed), batches_of_first_run,
            {.name = "", .stop = Stop::Clean, .durability = kind.durability});
  run_store(path, specimen.model_at(batches_of_first_run), batches_of_second_run, kind);
  const int at_end = kind.stop == Stop::Clean ? 0 : logs_at_end * batches_per_log;
  const int all = batches_of_first_run + batches_of_second_run + at_end;
  specimen.model = specimen.model_at(static_cast<BatchIndex>(all));
  specimen.durable = durable_of(kind, specimen.model.index());
  specimen.files = list_files(path);
  return specimen;
}

std::string kind_of(const std::string& name) {
  const std::string file = fs::path(name).filename();
  if (file.ends_with(".log")) return "log";
  if (file.ends_with(".sst")) return "table";
  return file.substr(0, file.find('-'));
}

void copy_specimen(const Specimen& specimen, const std::string& to) {
  fs::remove_all(to);
  fs::create_directories(to + "/db");
  for (const SpecimenFile& file : specimen.files) {
    const std::string from = specimen.path + "/" + file.name;
    if (kind_of(file.name) == "table") {
      fs::create_hard_link(from, to + "/" + file.name);
    } else {
      fs::copy_file(from, to + "/" + file.name);
    }
  }
}

void replace_file(const std::string& path, const std::string& content) {
  fs::remove(path);
  write_file(path, content);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace perennial::store
