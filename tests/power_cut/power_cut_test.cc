// Records the real server while it is loaded, stopped and killed, and cuts its power afterwards at
// any moment: it rebuilds the disk as the cut may have left it, starts on it with --recover=strict,
// and compares what is found with what clients had been answered at that moment.
//
// The model of a disk (disk.h, image.h). What a successful fsync or fdatasync of a file covered is
// there. Of later writes each sector of 512 bytes is there or not, as it was at some moment: lost,
// torn within a write, or reordered between writes and between files. The size of a file is written
// apart from its bytes. Sectors below the size that were never written are zeros, or garbage with
// the strict model. sync_file_range() promises nothing. Names, by model: "Strict" is POSIX, where a
// change of a name is certain only after a sync of its directory, and others are lost each for
// itself. "Journal" is ext4 and xfs, where any sync that must write a size or a name takes all
// earlier names along, and later ones survive in their order.
//
// The load (load.h): put with bodies of 0 bytes to 1.1 MB, priority, delay of 0, 1 and 1000 s, ttr,
// tube:, idp: with and without a cooldown, tries: and dead:; put-batch, delete-batch, delete,
// reserve-job, release with and without a delay, bury, kick-job, kick-tube, pause-tube, set-tube
// tries: and keep:, flush-tube and restore-job where jobs that end are kept, checkpoint; on TCP, in
// mode commit. Four connections have up to ten commands in flight each. Six lives end with a stop
// or a kill; logs are switched, tables flushed and compacted.
//
// A start finds each job that was answered, in one state, with its body, tube, priority, delay,
// ttr, tries, dead, key and counters (reserves, releases, buries, kicks), no deleted one and no
// unknown one; each job that has ended and is kept, with the same, or what it came back as, and
// never both; batches whole; keys, cooldowns, pauses and settings; a next id above all that
// clients know; and answered checkpoints, which verify.
//
// It is blind to: expire:, con:, backoff:, until:, and the time at which a delay, a pause or a
// cooldown ends; timeouts and attempts; move-tube and set-job; ended jobs with keys that come back,
// restore-tube, notes, and what goes because it is old or too many; a full disk; the modes
// interval and never, whose answers promise less; clusters; tools and migrations; disks that lie or
// damage sectors which they did not write (flip_test); writes through io_uring or a mapping, which
// the server does not make (the recording would not be complete). Two runs of one seed do not have
// the same order of events: a failure keeps its recording, and says how to repeat it.

#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/power_cut/disk.h"
#include "tests/power_cut/found.h"
#include "tests/power_cut/image.h"
#include "tests/power_cut/look.h"
#include "tests/power_cut/recorded.h"
#include "tests/store/dir_state.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

namespace perennial::power_cut {
namespace {

// Keeps what repeats a failure, and returns how.
std::string keep_recording() {
  const std::string kept =
      fmt::format("{}/power-cut-{}.recording", std::filesystem::temp_directory_path().string(),
                  support::seed());
  std::error_code failed;
  std::filesystem::copy_file(recorded().file, kept,
                             std::filesystem::copy_options::overwrite_existing, failed);
  return fmt::format("again: power_cut_test --recording {} --seed {} --images {}", kept,
                     support::seed(), settings().images);
}

TEST(PowerCut, TheRecordingIsComplete) {
  const Recorded& run = recorded();
  if (run.data_dir.empty()) GTEST_SKIP() << "an earlier recording";
  Disk disk(Model::Strict);
  for (const Event& event : run.recording.events()) disk.apply(event);
  const store::TempDir dir;
  std::filesystem::create_directory(dir.data_dir());
  write_whole(disk, dir.data_dir());
  const auto contents = [](const std::string& root) {
    std::map<std::string, std::string> out;
    for (auto& [path, file] : store::state_of(root)) {
      out[path.substr(root.size())] = std::move(file.content);
    }
    return out;
  };
  const auto built = contents(dir.data_dir());
  const auto real = contents(run.data_dir);
  for (const auto& [name, content] : real) {
    ASSERT_TRUE(built.contains(name)) << name;
    ASSERT_TRUE(built.at(name) == content)
        << name << ": " << built.at(name).size() << " bytes, " << content.size() << " are there";
  }
  ASSERT_EQ(built.size(), real.size());
}

TEST(PowerCut, TheLoadReachesWhatItIsFor) {
  const Recorded& run = recorded();
  size_t logs = 0;
  size_t tables = 0;
  size_t tables_removed = 0;
  uint64_t until = 0;  // The last life that has begun.
  size_t logs_under_load = 0;
  std::set<uint64_t> lives;
  for (const Event& event : run.recording.events()) {
    if (event.kind == EventKind::Begin) ++until;
    const bool is_log = event.kind == EventKind::Create && event.path.ends_with(".log");
    logs += is_log ? 1 : 0;
    if (is_log && event.path.starts_with("db/"))
      logs_under_load += lives.insert(until).second ? 0 : 1;
    tables += event.kind == EventKind::Create && event.path.ends_with(".sst") ? 1 : 0;
    tables_removed += event.kind == EventKind::Remove && event.path.ends_with(".sst") ? 1 : 0;
  }
  fmt::print(
      "{} log files, {} of them begun under load, {} tables, {} of them removed, {} checkpoints\n",
      logs, logs_under_load, tables, tables_removed, run.history.checkpoints.size());
  EXPECT_GT(logs_under_load, 0U);
  EXPECT_GT(tables_removed, 0U);
  EXPECT_EQ(run.history.checkpoints.size(), 2U);
}

class Models : public testing::TestWithParam<Model> {};

TEST_P(Models, EveryImageHasWhatWasAnswered) {
  const bool is_strict = GetParam() == Model::Strict;
  const uint64_t images = settings().images / 2;
  const Recorded& run = recorded();
  const std::vector<Cut> cuts =
      draw_cuts(run.recording, run.history, images, support::seed() + (is_strict ? 1 : 2));
  const Finding found = look_at_images(Disk(GetParam()), run.recording, run.history, cuts);
  ASSERT_EQ(found.problem, "") << keep_recording();
  EXPECT_EQ(found.images, images);
}

INSTANTIATE_TEST_SUITE_P(PowerCut, Models, testing::Values(Model::Strict, Model::Journal),
                         [](const auto& one) {
                           return one.param == Model::Strict ? "Strict" : "Journal";
                         });

class Lies : public testing::TestWithParam<Lie> {};

// The test sees what it is for: a disk that forgets syncs from the first answer on.
TEST_P(Lies, AreFound) {
  const Recorded& run = recorded();
  const std::vector<Cut> cuts = draw_cuts(run.recording, run.history, 400, support::seed() + 3);
  const Finding found = look_at_images(Disk(Model::Strict, GetParam(), run.history.answers.front()),
                                       run.recording, run.history, cuts);
  fmt::print("found by image {}: {}\n", found.images,
             found.problem.substr(0, found.problem.find('\n')));
  EXPECT_NE(found.problem, "");
}

std::string name_of_lie(const testing::TestParamInfo<Lie>& one) {
  return one.param == Lie::LastLogSync  ? "AboutTheLastSyncOfALog"
         : one.param == Lie::TableSyncs ? "AboutTables"
                                        : "AboutDirectories";
}

INSTANTIATE_TEST_SUITE_P(PowerCut, Lies,
                         testing::Values(Lie::LastLogSync, Lie::TableSyncs, Lie::DirectorySyncs),
                         name_of_lie);

// Puts the image of a cut where a server finds it.
void plant(support::ServerProcess& server, Disk& disk, const Cut& cut) {
  const Recorded& run = recorded();
  while (disk.events() < cut.at) disk.apply(run.recording.events()[disk.events()]);
  std::filesystem::create_directory(server.data_dir());
  std::mt19937_64 random(cut.draw);
  write_image(disk, random, server.data_dir());
}

TEST(PowerCut, TheRealServerStartsOnImages) {
  const Recorded& run = recorded();
  Disk disk(Model::Journal);
  for (const Cut& cut : draw_cuts(run.recording, run.history, 5, support::seed() + 4)) {
    SCOPED_TRACE(fmt::format("cut at {}, drawn from {}", cut.at, cut.draw));
    support::ServerProcess server(small_server());
    plant(server, disk, cut);
    const Status started = server.start();
    ASSERT_TRUE(started.ok()) << started.message();
    const Result<Found> found = read_server(server, run.history);
    ASSERT_TRUE(found.ok()) << found.status().message();
    ASSERT_EQ(judge(run.history, {cut.at, cut.at}, *found), "");
  }
}

// A start truncates and writes. The power is cut again meanwhile, and while the server stops.
TEST(PowerCut, AStartOnAnImageMayLosePowerItself) {
  const Recorded& run = recorded();
  const uint64_t starts = 2 + settings().images / 500;
  Disk disk(Model::Strict);
  for (const Cut& cut : draw_cuts(run.recording, run.history, starts, support::seed() + 5)) {
    support::ServerProcess server(small_server());
    plant(server, disk, cut);
    Disk begun = Disk::of_directory(Model::Strict, server.data_dir());
    const std::string file = server.dir() + "/recording";
    {
      const RecordingOn recording(server.data_dir(), file);
      const Status started = server.start();
      ASSERT_TRUE(started.ok()) << started.message() << keep_recording();
      ASSERT_TRUE(server.terminate().ok());
    }
    const Result<Recording> recording = Recording::read(file);
    ASSERT_TRUE(recording.ok()) << recording.status().message();
    const std::vector<Cut> cuts = draw_cuts(*recording, {}, 30, cut.draw);
    const Finding found = look_at_images(std::move(begun), *recording, run.history, cuts, cut.at);
    ASSERT_EQ(found.problem, "") << "after a cut at " << cut.at << ": " << keep_recording();
  }
}

}  // namespace
}  // namespace perennial::power_cut
