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
constexpr int batches_of_first_life = 60;
constexpr int batches_of_second_life = 40;
constexpr int logs_at_end = 2;
constexpr int batches_per_log = 10;  // At the end of a life that is killed.

void write_batches(Store& store, World& world, int count) {
  const bool syncs_each = store.options().durability == Durability::Commit;
  for (int i = 0; i < count; ++i) {
    Batch batch;
    world.next(batch, transitions);
    CHECK(store.write(batch, syncs_each || batch.must_sync()).ok());
  }
}

// A flush that never ends: it has begun a new log file, and the older ones must stay.
void flush_forever(Store& store) {
  const uint64_t newest = store.log_files().newest_index;
  std::thread([&store] { ignore(store.flush(), "it never returns"); }).detach();
  while (store.log_files().newest_index == newest) std::this_thread::yield();
}

// From here on this many tables are synced, and none after them. A flush writes one family after
// the other: when the next one comes to be synced, those before it are in the MANIFEST.
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

// The end of a life that is killed: several log files, of which the modes that do not sync each
// batch have synced the first, or none.
void write_logs(Store& store, World& world, const TableStop& tables) {
  for (int log = 0; log < logs_at_end; ++log) {
    flush_forever(store);
    if (log == 0) tables.wait();
    write_batches(store, world, batches_per_log);
    if (log == 0 && store.options().durability == Durability::Interval) CHECK(store.sync().ok());
  }
}

// One life after the other, in one child each, because the parent must not run RocksDB.
void live(const std::string& path, World world, int batches, const SpecimenKind& kind) {
  const ChildEnd end = run_child([&](const Pipe&) {
    const auto faults = std::make_shared<support::FaultFs>(rocksdb::FileSystem::Default());
    const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(faults);
    // A small log makes many tables; a large one leaves it to us when a new log file begins.
    const uint64_t log_bytes_max = kind.stop == Stop::Clean ? 64 << 10 : 64 << 20;
    auto store = Store::open({.data_dir = path,
                              .durability = kind.durability,
                              .log_bytes_max = log_bytes_max,
                              .env = env.get()});
    CHECK(store.ok());
    world.reopened((*store)->opening());
    write_batches(**store, world, batches / 2);
    CHECK((*store)->flush().ok());
    write_batches(**store, world, batches - batches / 2);
    if (kind.stop == Stop::Clean) {
      CHECK((*store)->close(world.next_id()).ok());
      return;
    }
    const TableStop tables(*faults, kind.stop == Stop::PartlyFlushed ? 1 : 0);
    write_logs(**store, world, tables);
    ::_exit(0);
  });
  CHECK(end.signal == 0 && end.exit_code == 0);
}

// At least what the last flush that ended had put into tables.
BatchIndex durable_of(const SpecimenKind& kind, BatchIndex last) {
  if (kind.durability == Durability::Commit || kind.stop == Stop::Clean) return last;
  if (kind.durability == Durability::Interval) return last - batches_per_log;
  return batches_of_first_life + batches_of_second_life / 2;
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

// A child's world is gone with it, but the same steps lead there again.
World Specimen::world_at(BatchIndex index) const {
  World again(seed);
  Batch batch;
  while (again.index() < index) {
    again.next(batch, transitions);
    // The clean stop between the lives has told the exact next id.
    if (again.index() == batches_of_first_life)
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
  live(path, World(seed), batches_of_first_life,
       {.name = "", .stop = Stop::Clean, .durability = kind.durability});
  live(path, specimen.world_at(batches_of_first_life), batches_of_second_life, kind);
  const int at_end = kind.stop == Stop::Clean ? 0 : logs_at_end * batches_per_log;
  const int all = batches_of_first_life + batches_of_second_life + at_end;
  specimen.world = specimen.world_at(static_cast<BatchIndex>(all));
  specimen.durable = durable_of(kind, specimen.world.index());
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
