#include <algorithm>
#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/flip/specimen.h"
#include "tests/flip/verdict.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P9: files that are gone, cut or longer than they were.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

const char* name_of(Stop stop) {
  return stop == Stop::Killed ? "Killed" : "Clean";
}

class Loss : public testing::TestWithParam<Stop> {
 protected:
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

TEST_P(Loss, NothingIsWrongWithTheSpecimen) {
  const Judgement found = judge_after([](const std::string&) {});
  EXPECT_EQ(found.verdict, Verdict::Whole) << found.message;
  EXPECT_FALSE(found.was_cut);
}

TEST_P(Loss, OfAnyFileIsRefusedOrLosesNothing) {
  Tally tally;
  for (const SpecimenFile& file : specimen_.files) {
    const Judgement found =
        judge_after([&](const std::string& copy) { fs::remove(copy + "/" + file.name); });
    tally.add(kind_of(file.name), found.verdict);
    EXPECT_TRUE(found.verdict == Verdict::Whole || found.verdict == Verdict::Refused)
        << name_of(found.verdict) << ": " << file.name << ": " << found.message;
  }
  tally.print(name_of(GetParam()));
}

// Of the newest log a shorter one is what a crash leaves, too; nothing on one disk tells them
// apart.
TEST_P(Loss, OfTheEndOfAnyFileIsRefusedOrLosesNothing) {
  Tally tally;
  for (int round = 0; round < 4; ++round) {
    for (const SpecimenFile& file : specimen_.files) {
      if (file.bytes == 0) continue;
      const size_t bytes = random_() % file.bytes;
      const Judgement found = judge_after([&](const std::string& copy) {
        replace_file(copy + "/" + file.name, read_file(copy + "/" + file.name).substr(0, bytes));
      });
      tally.add(kind_of(file.name), found.verdict);
      const bool may_be_shorter =
          file.name == specimen_.newest_log() &&
          (found.verdict == Verdict::Shorter || found.verdict == Verdict::LastDropped);
      EXPECT_TRUE(found.verdict == Verdict::Whole || found.verdict == Verdict::Refused ||
                  may_be_shorter)
          << name_of(found.verdict) << ": " << file.name << " cut to " << bytes << " of "
          << file.bytes << ": " << found.message;
    }
  }
  tally.print(name_of(GetParam()));
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
      EXPECT_TRUE(found.was_cut) << bytes;
    }
  }
}

// An edit that a power cut kept from being synced.
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
    EXPECT_TRUE(found.was_cut) << bytes;
  }
}

// What a power cut makes of a record that was never acknowledged.
TEST_P(Loss, OfTheLastRecordIsTold) {
  if (GetParam() == Stop::Clean) return;  // Its last record holds nothing.
  const std::string log = "/" + specimen_.newest_log();
  for (const std::string& tail :
       {std::string(), std::string(8 << 10, '\0'), garbage(random_, 8 << 10)}) {
    const Judgement found = judge_after([&](const std::string& copy) {
      const std::string content = read_file(copy + log);
      replace_file(copy + log, content.substr(0, content.size() - 70) + tail);
    });
    EXPECT_EQ(found.verdict, Verdict::LastDropped) << found.message;
  }
}

INSTANTIATE_TEST_SUITE_P(Store, Loss, testing::Values(Stop::Killed, Stop::Clean),
                         [](const auto& one) { return name_of(one.param); });

}  // namespace
}  // namespace perennial::store
