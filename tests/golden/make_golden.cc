// Makes a golden data directory of this program's format, and its listing beside it:
//
//   ninja -C build make_golden
//   build/make_golden tests/golden/format_1
//
// For a new format only, once: what is there must never change. Another run gives the same content
// in other bytes, because RocksDB draws names for its sessions.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "engine/types/check.h"
#include "store/store.h"
#include "tests/golden/batches.h"
#include "tests/golden/listing.h"

namespace perennial::golden {
namespace {

namespace fs = std::filesystem;
using store::Batch;
using store::Store;

constexpr Nanos begin = 1'700'000'000 * nanos_per_second;
constexpr JobId id_mark = 1001;  // As far as ids may be given out without another promise.
constexpr JobId id_end = 15;     // No id from here on was given out.

// Writes batches that are the same each time.
class Writer {
 public:
  explicit Writer(Store& store) : store_(store) {}

  void put(JobId id, TubeId tube, const std::string& body, JobRow row = {}) {
    row.id = id;
    row.tube = tube;
    row.ttr_s = 60 + static_cast<uint32_t>(id);
    row.created = begin + static_cast<Nanos>(id) * nanos_per_second;
    row.body_bytes = static_cast<uint32_t>(body.size());
    bodies_[id] = body;
    batch_.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, bodies_[id]);
    rows_[id] = row;
  }
  void move(JobId id, JobState to, uint64_t order) {
    JobRow row = rows_[id];
    const JobState before = row.state;
    row.state = to;
    row.order = order;
    ++row.reserves;
    if (to == JobState::Buried) ++row.buries;
    if (to == JobState::Delayed) {
      ++row.releases;
      row.delay_s = 3600;
    }
    batch_.add(JobMoved{.id = id, .before = before, .after = row, .promised = true});
    rows_[id] = row;
  }
  void remove(JobId id) {
    batch_.add(JobMoved{.id = id, .before = rows_[id].state, .after = {}, .promised = true});
  }
  template <typename Effect>
  void add(const Effect& effect) {
    batch_.add(effect);
  }
  void commit() {
    ++index_;
    batch_.seal({.epoch = store_.opening().epoch,
                 .index = index_,
                 .known_durable = index_ - 1,
                 .now = begin + static_cast<Nanos>(index_) * nanos_per_ms});
    CHECK(store_.write(batch_, true).ok());
    batch_.clear();
  }

 private:
  Store& store_;
  Batch batch_;
  BatchIndex index_ = 0;
  std::array<JobRow, 20> rows_ = {};
  std::array<std::string, 20> bodies_;
};

// The half that ends up in tables.
void write_first(Writer& writer) {
  writer.add(NextIdRaised{.next_id = id_mark});
  writer.add(TubeStored{.tube = 0, .name = "default"});
  writer.add(TubeStored{.tube = 1, .name = "odd-+/;.$_()name"});
  writer.put(1, 0, "hello");
  writer.put(2, 0, "");
  writer.put(3, 1, all_bytes(), {.priority = 4'294'967'295});
  writer.put(4, 1, random_bytes(7000), {.priority = 1024});
  writer.commit();
  for (JobId id = 5; id <= 12; ++id) writer.put(id, id % 2, "body " + std::to_string(id));
  writer.commit();
  writer.move(7, JobState::Buried, 1);
  writer.move(5, JobState::Buried, 2);
  writer.move(8, JobState::Delayed, begin + 3600 * nanos_per_second);
  writer.remove(12);
  writer.commit();
}

// The half that stays in the log of one that was killed.
void write_second(Writer& writer) {
  writer.add(TubeStored{.tube = 2, .name = std::string(tube_name_bytes_max, 't')});
  writer.add(TubeStored{.tube = 3, .name = "paused"});
  writer.add(TubePaused{.tube = 3, .pause = 10 * nanos_per_second, .until = begin * 2});
  writer.put(13, 2, "late\r\nand with two lines");
  writer.put(14, 2, "delayed from the first",
             {.state = JobState::Delayed,
              .delay_s = 4'000'000'000,
              .order = begin + 4'000'000'000 * nanos_per_second});
  writer.commit();
  writer.move(6, JobState::Buried, 3);
  writer.move(9, JobState::Reserved, 0);
  writer.move(7, JobState::Ready, 0);
  writer.move(7, JobState::Buried, 4);
  writer.remove(10);
  writer.commit();
}

void make(const std::string& path, bool is_clean) {
  Result<std::unique_ptr<Store>> store = Store::open({.data_dir = path});
  CHECK(store.ok());
  Writer writer(**store);
  write_first(writer);
  CHECK((*store)->flush().ok());
  write_second(writer);
  if (is_clean) CHECK((*store)->close(id_end).ok());
}

// RocksDB needs none of them to open, and they are large.
void drop_options(const std::string& path) {
  for (const auto& file : fs::directory_iterator(path + "/db")) {
    if (file.path().filename().native().starts_with("OPTIONS-")) fs::remove(file.path());
  }
}

int run(const std::string& to) {
  for (const bool is_clean : {true, false}) {
    const std::string path = to + (is_clean ? "/clean" : "/killed");
    CHECK(!fs::exists(path));
    fs::create_directories(to);
    make(path, is_clean);
    drop_options(path);
    const Result<std::string> listed = list(path);
    CHECK(listed.ok());
    std::ofstream(path + ".txt", std::ios::binary) << *listed;
    std::printf("made %s\n", path.c_str());
  }
  return 0;
}

}  // namespace
}  // namespace perennial::golden

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_golden DIR, which is made, for example format_1\n");
    return 2;
  }
  return perennial::golden::run(argv[1]);
}
