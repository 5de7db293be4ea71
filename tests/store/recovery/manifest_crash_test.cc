#include <atomic>
#include <cstdio>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/file_system.h>

#include "store/recovery/manifest.h"
#include "tests/store/lives.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P1: a power cut comes just before RocksDB syncs its MANIFEST, and leaves any part of the last
// edits. The next start must succeed and find everything.
namespace perennial::store {
namespace {

using support::FaultFs;
using support::Loss;

// Cuts the power before the n-th sync of the MANIFEST.
void cut_power(FaultFs& fs, uint64_t n, uint64_t seed) {
  fs.set_sync_hook(
      [&fs, seed, left = std::make_shared<std::atomic<uint64_t>>(n)](const std::string& path) {
        if (path.find("/MANIFEST-") == std::string::npos) return;
        if (left->fetch_sub(1) == 0) fs.lose_power(Loss::Torn, seed);
      });
}

bool has_torn_manifest(const std::string& data_dir) {
  const auto manifest = read_manifest(*rocksdb::FileSystem::Default(), data_dir + "/db");
  return manifest.ok() && manifest->damage;
}

TEST(ManifestCrash, ATornEndIsTruncatedAndNothingIsMissing) {
  std::mt19937_64 random(support::seed());
  int torn = 0;
  for (int queue = 0; queue < 4; ++queue) {
    const TempDir dir;
    StoreModel model(random());
    for (int crash = 0; crash < 12; ++crash) {
      const uint64_t n = random() % 25;
      const uint64_t seed = random();
      const Life life = {.data_dir = dir.data_dir(),
                         .durability = Durability::Commit,
                         .batches = 200,
                         .plan = [&](FaultFs& fs) { cut_power(fs, n, seed); }};
      const ChildEnd end = live(life, model);
      torn += has_torn_manifest(dir.data_dir()) ? 1 : 0;
      const Found found = examine(dir.data_dir(), model);
      ASSERT_EQ(judge(life, end, found, model), "")
          << "queue " << queue << " crash " << crash << " at sync " << n << " seed " << seed;
    }
  }
  std::printf("%d of 48 left a torn MANIFEST\n", torn);
  EXPECT_GT(torn, 0);
}

// On a disk that keeps each name for itself, CURRENT could otherwise name a file that is not there.
// Blind to what RocksDB does in the directory of a checkpoint, which nobody reads before it is
// whole.
TEST(ManifestCrash, AManifestHasADurableNameBeforeCurrentNamesIt) {
  const TempDir dir;
  const std::string calls = dir.path() + "/calls";
  const StoreModel model(1);
  for (int start = 0; start < 2; ++start) {
    const ChildEnd end = live({.data_dir = dir.data_dir(),
                               .batches = 10,
                               .plan = [&](FaultFs& fs) { fs.trace_to(calls); }},
                              model);
    ASSERT_EQ(end.exit_code, 0);
  }
  bool has_durable_name = false;
  int renames = 0;
  std::ifstream in(calls);
  std::string seen;
  for (std::string line; std::getline(in, line);) {
    seen += line + "\n";
    std::istringstream words(line);
    std::string number, kind, name;
    words >> number >> kind >> name;
    if (kind == "create" && name.starts_with("MANIFEST-")) has_durable_name = false;
    if (kind == "dir-sync" && name.starts_with("db")) has_durable_name = true;
    if (kind != "rename" || name != "CURRENT") continue;
    ++renames;
    EXPECT_TRUE(has_durable_name) << "of these calls in the last:\n" << seen;
  }
  EXPECT_GE(renames, 2);
}

}  // namespace
}  // namespace perennial::store
