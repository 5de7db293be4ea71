#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "tests/flip/positions.h"
#include "tests/flip/specimen.h"
#include "tests/flip/verdict.h"
#include "tests/store/dir_state.h"
#include "tests/store/log_ends.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P9: files that are deleted, truncated or extended.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

class Loss : public testing::TestWithParam<SpecimenKind> {
 protected:
  // The start is refused, or no synced batch is missing.
  bool is_good(const Judgement& found) const {
    if (found.verdict == Verdict::Whole || found.verdict == Verdict::Refused) return true;
    const bool is_shorter =
        found.verdict == Verdict::Shorter || found.verdict == Verdict::LastDropped;
    return is_shorter && found.index >= specimen_.durable;
  }
  void expect_good(const std::string& file, const char* how, Tally& tally,
                   const std::function<std::string(const std::string& path)>& damage) const {
    const Judgement found = judge_after([&](const std::string& copy) {
      const std::string path = copy + "/" + file;
      replace_file(path, damage(path));
    });
    tally.add(kind_of(file), found.verdict);
    EXPECT_TRUE(is_good(found)) << name_of(found.verdict) << " at " << found.index << " of "
                                << specimen_.durable << " synced: " << file << " " << how << ": "
                                << found.message;
  }
  Judgement judge_after(const std::function<void(const std::string& copy)>& damage) const {
    const std::string copy = dir_.path() + "/copy";
    copy_specimen(specimen_, copy);
    damage(copy);
    return judge(specimen_, copy);
  }

  mutable std::mt19937_64 random_{support::seed()};
  const TempDir dir_;
  const Specimen specimen_ = make_specimen(dir_.data_dir(), GetParam(), random_());
};

TEST_P(Loss, TheUndamagedSpecimenIsWhole) {
  const Judgement found = judge_after([](const std::string&) {});
  EXPECT_EQ(found.verdict, Verdict::Whole) << found.message;
  EXPECT_FALSE(found.was_truncated);
}

TEST_P(Loss, OfAnyFileIsRefusedOrLosesNothing) {
  Tally tally;
  for (const SpecimenFile& file : specimen_.files) {
    const Judgement found =
        judge_after([&](const std::string& copy) { fs::remove(copy + "/" + file.name); });
    tally.add(kind_of(file.name), found.verdict);
    EXPECT_TRUE(is_good(found)) << name_of(found.verdict) << ": " << file.name << ": "
                                << found.message;
  }
  tally.print(GetParam().name);
}

TEST_P(Loss, OfTheEndOfAnyFileIsRefusedOrLosesNothing) {
  Tally tally;
  for (uint64_t round = 0; round < (runs() + 1) / 2; ++round) {
    for (const SpecimenFile& file : specimen_.files) {
      if (file.bytes == 0) continue;
      const size_t bytes = random_() % file.bytes;
      expect_good(file.name, "cut", tally,
                  [&](const std::string& path) { return read_file(path).substr(0, bytes); });
    }
  }
  tally.print(GetParam().name);
}

// The state that a disk leaves if it reports syncs that it has not done.
TEST_P(Loss, OfAllInAnyFileIsRefusedOrLosesNothing) {
  Tally tally;
  for (const SpecimenFile& file : specimen_.files) {
    if (file.bytes == 0) continue;
    expect_good(file.name, "emptied", tally, [](const std::string&) { return std::string(); });
    expect_good(file.name, "zeroed", tally,
                [&](const std::string&) { return std::string(file.bytes, '\0'); });
  }
  tally.print(GetParam().name);
}

// Nothing in the file shows that it was longer.
TEST_P(Loss, OfWholeRecordsAtTheEndOfALogIsRefusedOrLosesNothing) {
  Tally tally;
  const uint64_t stride = std::max<uint64_t>(18 / runs(), 1);
  for (const SpecimenFile& file : specimen_.files) {
    if (kind_of(file.name) != "log") continue;
    const std::vector<uint64_t> ends = record_ends(specimen_.path + "/" + file.name);
    for (const bool with_zeros : {false, true}) {
      for (size_t kept = 1; kept < ends.size(); kept += 1 + random_() % stride) {
        expect_good(file.name, "cut behind a record", tally, [&](const std::string& path) {
          std::string content = read_file(path).substr(0, ends[kept - 1]);
          if (with_zeros) content.resize(file.bytes, '\0');
          return content;
        });
      }
    }
  }
  tally.print(GetParam().name);
}

std::string garbage(std::mt19937_64& random, size_t bytes) {
  std::string out(bytes, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

TEST_P(Loss, OfNothingWhereBytesFollowTheLog) {
  const std::string log = "/" + specimen_.newest_log();
  for (const size_t bytes : {1, 6, 7, 100, 8 << 10, 100 << 10}) {
    for (const bool are_zero : {true, false}) {
      const Judgement found = judge_after([&](const std::string& copy) {
        const std::string more = are_zero ? std::string(bytes, '\0') : garbage(random_, bytes);
        replace_file(copy + log, read_file(copy + log) + more);
      });
      EXPECT_EQ(found.verdict, Verdict::Whole) << found.message;
      // A log is preallocated with zeros, so trailing zeros are no truncation.
      EXPECT_EQ(found.was_truncated, !are_zero) << bytes;
    }
  }
}

// A power cut can leave an edit that was not synced.
TEST_P(Loss, OfNothingWhereBytesFollowTheManifest) {
  const auto is_manifest = [](const SpecimenFile& file) {
    return kind_of(file.name) == "MANIFEST";
  };
  const auto manifest = std::ranges::find_if(specimen_.files, is_manifest);
  ASSERT_NE(manifest, specimen_.files.end());
  const std::string name = "/" + manifest->name;
  for (const size_t bytes : {1, 6, 7, 100, 8 << 10, 100 << 10}) {
    const Judgement found = judge_after([&](const std::string& copy) {
      replace_file(copy + name, read_file(copy + name) + garbage(random_, bytes));
    });
    EXPECT_EQ(found.verdict, Verdict::Whole) << found.message;
    EXPECT_TRUE(found.was_truncated) << bytes;
  }
}

// A power cut can damage a record that was never acknowledged.
TEST_P(Loss, OfTheLastRecordIsReported) {
  if (GetParam().stop == Stop::Clean) return;  // The last record is empty then.
  const std::string log = "/" + specimen_.newest_log();
  for (const std::string& tail :
       {std::string(), std::string(8 << 10, '\0'), garbage(random_, 8 << 10)}) {
    const Judgement found = judge_after([&](const std::string& copy) {
      const std::string content = read_file(copy + log);
      const size_t end = content.find_last_not_of('\0') + 1;  // Zeros may follow the record.
      replace_file(copy + log, content.substr(0, end - 70) + tail);
      // In the modes that do not sync each batch, some batches are synced all the same.
      const auto mark = read_durable_mark(nullptr, copy);
      if (mark.ok() && *mark && (*mark)->index == specimen_.model.index()) forget_last_sync(copy);
    });
    EXPECT_EQ(found.verdict, Verdict::LastDropped) << found.message;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Store, Loss,
    testing::Values(SpecimenKind{"Killed", Stop::Killed},
                    SpecimenKind{"PartlyFlushed", Stop::PartlyFlushed},
                    SpecimenKind{"Clean", Stop::Clean},
                    SpecimenKind{"IntervalKilled", Stop::Killed, Durability::Interval},
                    SpecimenKind{"IntervalPartlyFlushed", Stop::PartlyFlushed,
                                 Durability::Interval},
                    SpecimenKind{"NeverKilled", Stop::Killed, Durability::Never},
                    SpecimenKind{"NeverPartlyFlushed", Stop::PartlyFlushed, Durability::Never}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
