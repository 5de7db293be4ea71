#include <atomic>
#include <cstdio>
#include <random>
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

}  // namespace
}  // namespace perennial::store
