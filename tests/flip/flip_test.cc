#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/damage/table_blocks.h"
#include "tests/flip/data_blocks.h"
#include "tests/flip/positions.h"
#include "tests/flip/specimen.h"
#include "tests/flip/verdict.h"
#include "tests/store/child.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P9: whichever byte of a data directory is flipped, a start refuses it or finds everything.
namespace perennial::store {
namespace {

// A byte of one file, and the bits of it that change.
struct Flip {
  const SpecimenFile* file;
  size_t offset;
  uint8_t bits;
};

// The weight of a kind of file: the logs and the tables hold the jobs.
int weight_of(const std::string& kind) {
  if (kind == "log" || kind == "table") return 6;
  return kind == "MANIFEST" ? 4 : 1;
}

Flip draw(const Specimen& specimen, std::mt19937_64& random) {
  std::map<std::string, std::vector<const SpecimenFile*>> files;
  for (const SpecimenFile& file : specimen.files) {
    if (file.bytes > 0) files[kind_of(file.name)].push_back(&file);
  }
  std::vector<std::string> urn;
  for (const auto& [kind, of_kind] : files) urn.insert(urn.end(), weight_of(kind), kind);
  const auto& chosen = files[urn[random() % urn.size()]];
  const SpecimenFile* const file = chosen[random() % chosen.size()];
  return {.file = file,
          .offset = random() % file->bytes,
          .bits = static_cast<uint8_t>(1U << random() % 8)};
}

bool is_good(const Flip& flip, const Judgement& found) {
  switch (found.verdict) {
    case Verdict::Whole:
    case Verdict::Refused:
      return true;
    case Verdict::BodyDamaged:
    case Verdict::EndedDamaged:
      return kind_of(flip.file->name) == "table";
    case Verdict::LastDropped:
    case Verdict::Shorter:
    case Verdict::Wrong:
      return false;
  }
  return false;
}

void flip_bytes(Stop stop, uint64_t count, const char* title) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const Specimen specimen = make_specimen(dir.data_dir(), {.name = "", .stop = stop}, random());
  // What is wrong without any flip is not to be blamed on one.
  const std::string undamaged = dir.path() + "/undamaged";
  copy_specimen(specimen, undamaged);
  const Judgement before = judge(specimen, undamaged);
  ASSERT_EQ(before.verdict, Verdict::Whole) << "undamaged: " << before.message;
  Tally tally;
  for (uint64_t n = 0; n < count; ++n) {
    const Flip flip = draw(specimen, random);
    const std::string copy = dir.path() + "/copy";
    copy_specimen(specimen, copy);
    std::string content = read_file(copy + "/" + flip.file->name);
    content[flip.offset] = static_cast<char>(content[flip.offset] ^ flip.bits);
    replace_file(copy + "/" + flip.file->name, content);
    const Judgement found = judge(specimen, copy);
    tally.add(kind_of(flip.file->name), found.verdict);
    ASSERT_TRUE(is_good(flip, found))
        << name_of(found.verdict) << ": " << flip.file->name << " byte " << flip.offset << " bits "
        << int{flip.bits} << ": " << found.message;
  }
  tally.print(title);
}

TEST(Flip, OfAByteAfterAKillIsRefusedOrLosesNothing) {
  flip_bytes(Stop::Killed, positions() - positions() / 4, "flipped after a kill");
}

TEST(Flip, OfAByteAfterACleanStopIsRefusedOrLosesNothing) {
  flip_bytes(Stop::Clean, positions() / 4, "flipped after a clean stop");
}

// The place of a data block.
struct BlockPlace {
  std::array<char, 32> table = {};
  uint64_t offset = 0;
  uint64_t bytes = 0;  // With its checksum.
  uint64_t ended = 0;  // Of a block of ended jobs or of their order: those of them that are left.
};

// Those of the family, of tables that the database has.
std::vector<BlockPlace> block_places(const Specimen& specimen, Family family) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const Image image = specimen.model.image();
    for (const DataBlock& block : live_data_blocks_of(specimen.path, family)) {
      BlockPlace place = {.offset = block.offset, .bytes = block.bytes + block_trailer_bytes};
      if (is_of_ended_jobs(family)) place.ended = block.ended_jobs(image).size();
      block.file.copy(place.table.data(), place.table.size() - 1);
      pipe.send(place);
    }
  });
  EXPECT_EQ(end.signal, 0);
  return end.reports<BlockPlace>();
}

// Flips a byte of a copy at that place, and judges a start on it. `what` says which byte it was.
Judgement judge_flip(const Specimen& specimen, const BlockPlace& place, const TempDir& dir,
                     std::mt19937_64& random, std::string& what) {
  const std::string file = std::string("db/") + place.table.data();
  const size_t offset = place.offset + random() % place.bytes;
  what = file + " byte " + std::to_string(offset);
  const std::string copy = dir.path() + "/copy";
  copy_specimen(specimen, copy);
  std::string content = read_file(copy + "/" + file);
  content[offset] = static_cast<char>(content[offset] ^ (1U << random() % 8));
  replace_file(copy + "/" + file, content);
  return judge(specimen, copy);
}

// A specimen with an ended job in a block. The model forgets ended jobs, too, and may have none
// left when it stops.
Specimen make_specimen_with_ended(const TempDir& dir, std::mt19937_64& random) {
  // After a kill the newest ended jobs, which are most of those that are left, are in the log.
  const SpecimenKind kind = {.name = "", .stop = Stop::Clean};
  for (int attempt = 0; attempt < 30; ++attempt) {
    Specimen specimen =
        make_specimen(dir.path() + "/data-" + std::to_string(attempt), kind, random());
    const auto has_ended = [](const BlockPlace& place) { return place.ended > 0; };
    if (std::ranges::any_of(block_places(specimen, Family::Ended), has_ended)) return specimen;
  }
  ADD_FAILURE() << "no specimen has ended jobs in a table";
  return {};
}

// P11: the start contains the damage. judge() says whether exactly the ended jobs in the block are
// lost, and whether a reader finds the others and says that these are missing.
TEST(Flip, OfAByteOfEndedJobsCostsTheEndedJobsInItsBlock) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const Specimen specimen = make_specimen_with_ended(dir, random);
  ASSERT_FALSE(specimen.path.empty());
  Tally tally;
  for (const Family family : {Family::Ended, Family::EndedOrder}) {
    std::vector<BlockPlace> places = block_places(specimen, family);
    ASSERT_FALSE(places.empty());
    std::ranges::sort(places, std::greater<>(), &BlockPlace::ended);  // The first flip loses a job.
    for (uint64_t n = 0; n < std::max<uint64_t>(positions() / 10, 1); ++n) {
      const BlockPlace& place = places[n % places.size()];
      std::string what;
      const Judgement found = judge_flip(specimen, place, dir, random, what);
      tally.add(std::string(name_of(family)), found.verdict);
      // A job whose place alone is damaged may be found by its row.
      const bool must_lose = family == Family::Ended && place.ended > 0;
      ASSERT_TRUE(found.verdict == Verdict::EndedDamaged ||
                  (!must_lose && found.verdict == Verdict::Whole))
          << name_of(found.verdict) << ": " << what << ": " << found.message;
    }
  }
  tally.print("ended jobs flipped after a clean stop");
}

// A schedule that is gone would put no jobs, and nobody would see it, so the start is refused.
TEST(Flip, OfAByteOfSchedulesIsRefused) {
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const Specimen specimen =
      make_specimen(dir.data_dir(), {.name = "", .stop = Stop::Clean}, random());
  ASSERT_FALSE(specimen.model.image().schedules.empty());
  const std::vector<BlockPlace> places = block_places(specimen, Family::Schedules);
  ASSERT_FALSE(places.empty());
  for (uint64_t n = 0; n < std::max<uint64_t>(positions() / 20, 1); ++n) {
    std::string what;
    const Judgement found = judge_flip(specimen, places[n % places.size()], dir, random, what);
    ASSERT_EQ(found.verdict, Verdict::Refused)
        << name_of(found.verdict) << ": " << what << ": " << found.message;
  }
}

// Flips bytes of the last edits. A start may ignore such edits only if the log proves that nothing
// is missing.
void flip_end_of_manifest(Stop stop, const char* title) {
  constexpr size_t bytes_from_end_max = 300;
  std::mt19937_64 random(support::seed());
  const TempDir dir;
  const Specimen specimen = make_specimen(dir.data_dir(), {.name = "", .stop = stop}, random());
  const auto manifest = std::ranges::find(
      specimen.files, "MANIFEST", [](const SpecimenFile& file) { return kind_of(file.name); });
  ASSERT_NE(manifest, specimen.files.end());
  Tally tally;
  for (size_t n = 0; n < positions() / 4; ++n) {
    // The bytes of the last record come first, one by one.
    const size_t from_end = 1 + (n < positions() / 10 ? n : random() % bytes_from_end_max);
    const std::string copy = dir.path() + "/copy";
    copy_specimen(specimen, copy);
    std::string content = read_file(copy + "/" + manifest->name);
    ASSERT_GT(content.size(), from_end);
    char& byte = content[content.size() - from_end];
    byte = static_cast<char>(byte ^ (1U << random() % 8));
    replace_file(copy + "/" + manifest->name, content);
    const Judgement found = judge(specimen, copy);
    tally.add("MANIFEST", found.verdict);
    ASSERT_TRUE(found.verdict == Verdict::Whole || found.verdict == Verdict::Refused)
        << name_of(found.verdict) << ": " << from_end << " from the end: " << found.message;
  }
  tally.print(title);
}

TEST(Flip, AtTheEndOfTheManifestAfterAKillIsRefusedOrLosesNothing) {
  flip_end_of_manifest(Stop::Killed, "flipped after a kill");
}

TEST(Flip, AtTheEndOfTheManifestAfterACleanStopIsRefusedOrLosesNothing) {
  flip_end_of_manifest(Stop::Clean, "flipped after a clean stop");
}

}  // namespace
}  // namespace perennial::store
