#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "store/reader.h"
#include "store/store.h"
#include "tests/store/temp_dir.h"

// A damaged log whose records have several pieces. The load is of large bodies in one tube; it is
// blind to tables, which the other tests damage.
namespace perennial::store {
namespace {

constexpr JobId jobs = 4;
constexpr size_t body_bytes = 60'000;

// A directory whose log has a batch for each job, as a crash leaves it. Returns the log's path.
std::string make_log(const TempDir& dir) {
  auto store = Store::open({.data_dir = dir.data_dir()});
  EXPECT_TRUE(store.ok());
  for (JobId id = 1; id <= jobs; ++id) {
    const std::string body(body_bytes, static_cast<char>('a' + id));
    Batch batch;
    if (id == 1) batch.add(TubeStored{.tube = 0, .name = "default"});
    const JobRow row = {.id = id, .ttr_s = 1, .body_bytes = body_bytes};
    batch.add(JobMoved{.id = id, .before = {}, .after = row, .promised = true}, body);
    batch.seal({.epoch = 1, .index = id, .known_durable = id - 1, .now = 5});
    EXPECT_TRUE((*store)->write(batch, true).ok());
  }
  store->reset();  // Its threads may be removing the first log.
  std::string log;
  for (const auto& entry : std::filesystem::directory_iterator(dir.data_dir() + "/db")) {
    if (entry.path().extension() == ".log" &&
        (log.empty() || entry.file_size() > std::filesystem::file_size(log))) {
      log = entry.path();
    }
  }
  return log;
}

std::set<JobId> salvaged_jobs(const std::string& path) {
  std::set<JobId> out;
  const auto reader = Reader::open({.path = path, .salvage = true});
  EXPECT_TRUE(reader.ok()) << reader.status().message();
  if (!reader.ok()) return out;
  EXPECT_NE((*reader)->salvaged()->log_problem, "");
  const Status loaded = (*reader)->load({.tube = [](TubeId, std::string_view) { return Status(); },
                                         .pause = [](const TubePaused&) { return Status(); },
                                         .settings = [](const SettingsStored&) { return Status(); },
                                         .job =
                                             [&](const JobRow& row) {
                                               out.insert(row.id);
                                               return Status();
                                             },
                                         .key = [](const KeyStored&) { return Status(); }});
  EXPECT_TRUE(loaded.ok()) << loaded.message();
  return out;
}

// The job before the damage is always kept.
TEST(DamagedLog, IsReadAtLeastUpToTheDamage) {
  for (uint64_t place = body_bytes + 10'000; place < 3 * body_bytes; place += 10'000) {
    const TempDir dir;
    flip_byte(make_log(dir), place);
    EXPECT_TRUE(salvaged_jobs(dir.data_dir()).contains(1)) << place;
  }
}

}  // namespace
}  // namespace perennial::store
