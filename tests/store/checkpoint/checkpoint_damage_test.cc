#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "engine/types/check.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/file_tree.h"
#include "store/offline/restore.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/support/seed.h"

// A changed checkpoint is refused with the name of the changed file, and a refused restore leaves
// no files.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Alteration {
  const char* name;
  // Alters one file at a place that `random` chooses. Returns false if the file cannot be altered
  // this way.
  std::function<bool(const std::string& path, std::mt19937_64& random)> alter;
};

void PrintTo(const Alteration& alteration, std::ostream* out) {
  *out << alteration.name;
}

bool flip_byte(const std::string& path, std::mt19937_64& random) {
  std::string content = read_file(path);
  if (content.empty()) return false;
  content[random() % content.size()] ^= static_cast<char>(1U << random() % 8);
  write_file(path, content);
  return true;
}

bool truncate(const std::string& path, std::mt19937_64& random) {
  const uint64_t bytes = fs::file_size(path);
  if (bytes > 0) fs::resize_file(path, random() % bytes);
  return bytes > 0;
}

bool lengthen(const std::string& path, std::mt19937_64&) {
  std::ofstream(path, std::ios::binary | std::ios::app) << '\0';
  return true;
}

bool remove_it(const std::string& path, std::mt19937_64&) {
  return fs::remove(path);
}

bool add_beside(const std::string& path, std::mt19937_64&) {
  write_file(path + "x", "");
  return true;
}

bool swap_for_dir(const std::string& path, std::mt19937_64&) {
  fs::remove(path);
  return fs::create_directory(path);
}

class AlteredCheckpoint : public testing::TestWithParam<Alteration> {
 protected:
  AlteredCheckpoint() : maker_(support::seed()), random_(support::seed()) {
    maker_.write(30);
    const Result<CheckpointManifest> made = maker_.make();
    CHECK(made.ok());
    for (const CheckpointFile& file : made->files) names_.push_back("db/" + file.name);
    names_.emplace_back("manifest.json");
  }

  // Returns a copy of the checkpoint without hard links, which a test may alter.
  std::string copy() {
    const std::string path = maker_.dir() + "/altered";
    fs::remove_all(path);
    fs::copy(maker_.path(), path, fs::copy_options::recursive);
    return path;
  }

  CheckpointMaker maker_;
  std::mt19937_64 random_;
  std::vector<std::string> names_;
};

TEST_P(AlteredCheckpoint, IsRefusedWithTheNameOfTheFile) {
  for (const std::string& name : names_) {
    const std::string path = copy();
    if (!GetParam().alter(path + "/" + name, random_)) continue;
    const Result<CheckpointManifest> verified = verify_checkpoint(path);
    ASSERT_FALSE(verified.ok()) << name;
    EXPECT_NE(verified.status().message().find(name), std::string::npos)
        << name << ": " << verified.status().message();
    const std::string to = maker_.dir() + "/restored";
    ASSERT_FALSE(restore_checkpoint({.from = path, .to = to}).ok()) << name;
    EXPECT_FALSE(fs::exists(to)) << name;
    EXPECT_FALSE(fs::exists(to + ".restoring")) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, AlteredCheckpoint,
                         testing::Values(Alteration{"ByteFlipped", flip_byte},
                                         Alteration{"Truncated", truncate},
                                         Alteration{"Lengthened", lengthen},
                                         Alteration{"Removed", remove_it},
                                         Alteration{"AnotherBeside", add_beside},
                                         Alteration{"DirectoryInstead", swap_for_dir}),
                         [](const auto& one) { return one.param.name; });

// A change of any byte of the manifest is detected, also in spaces.
TEST(CheckpointManifest, AChangeOfAnyByteIsRefused) {
  CheckpointMaker maker(support::seed());
  maker.write(3, false);
  ASSERT_TRUE(maker.make().ok());
  const std::string path = maker.path() + "/manifest.json";
  const std::string whole = read_file(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string altered = whole;
    altered[at] ^= 1;
    write_file(path, altered);
    ASSERT_FALSE(read_checkpoint(maker.path()).ok()) << "byte " << at;
  }
  write_file(path, whole);
  EXPECT_TRUE(read_checkpoint(maker.path()).ok());
}

TEST(CheckpointPlan, IsRefusedOnAnotherFileSystem) {
  CheckpointMaker maker(support::seed());
  const support::TempDir elsewhere;
  struct stat here = {};
  struct stat there = {};
  ASSERT_EQ(::stat(maker.dir().c_str(), &here), 0);
  ASSERT_EQ(::stat(elsewhere.path().c_str(), &there), 0);
  if (here.st_dev == there.st_dev) GTEST_SKIP() << "there is only one file system";
  const Status created = maker.store().create_checkpoint(elsewhere.path() + "/x.partial");
  EXPECT_EQ(created.code(), StatusCode::InvalidArgument);
  EXPECT_NE(created.message().find("another file system"), std::string::npos) << created.message();
  EXPECT_TRUE(fs::is_empty(elsewhere.path()));
}

TEST(CheckpointPlan, IsRefusedWhereTheDirectoryExists) {
  CheckpointMaker maker(support::seed());
  fs::create_directory(maker.checkpoints() + "/x.partial");
  const Status created = maker.store().create_checkpoint(maker.checkpoints() + "/x.partial");
  EXPECT_EQ(created.code(), StatusCode::InvalidArgument);
  EXPECT_TRUE(fs::exists(maker.checkpoints() + "/x.partial")) << "it may be another's";
}

struct Mistake {
  const char* name;
  std::function<void(CheckpointPlan&)> make;
  const char* message;
};

void PrintTo(const Mistake& mistake, std::ostream* out) {
  *out << mistake.name;
}

class MistakenPlan : public testing::TestWithParam<Mistake> {};

TEST_P(MistakenPlan, IsRemovedWithAReason) {
  CheckpointMaker maker(support::seed());
  maker.write(10);
  Result<CheckpointPlan> plan = maker.create();
  ASSERT_TRUE(plan.ok());
  GetParam().make(*plan);
  const Result<CheckpointManifest> made = complete_checkpoint(*plan);
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().message().find(GetParam().message), std::string::npos)
      << made.status().message();
  EXPECT_TRUE(fs::is_empty(maker.checkpoints()));
}

// Cancels at the call of `cancelled` after the first n.
void cancel_at(CheckpointPlan& plan, int n) {
  plan.cancelled = [n]() mutable { return --n < 0; };
}

INSTANTIATE_TEST_SUITE_P(
    Checkpoint, MistakenPlan,
    testing::Values(
        Mistake{"OtherCommit", [](CheckpointPlan& plan) { ++plan.index; },
                "a mistake of the server"},
        Mistake{"OtherCount", [](CheckpointPlan& plan) { ++plan.jobs->buried; },
                "a mistake of the server"},
        Mistake{"DamagedTable",
                [](CheckpointPlan& plan) {
                  for (const auto& file : fs::directory_iterator(partial_path(plan) + "/db")) {
                    if (file.path().extension() != ".sst") continue;
                    std::string content = read_file(file.path());
                    content[10] ^= 1;
                    fs::remove(file.path());  // The store has another link to the same file.
                    write_file(file.path(), content);
                  }
                },
                ".sst"},
        Mistake{"CancelledAtOnce", [](CheckpointPlan& plan) { cancel_at(plan, 0); }, "cancelled"},
        Mistake{"CancelledAmongFiles", [](CheckpointPlan& plan) { cancel_at(plan, 10); },
                "cancelled"}),
    [](const auto& one) { return one.param.name; });

TEST(CheckpointList, ListsTheOldestFirstAndMarksPartialOnes) {
  CheckpointMaker maker(support::seed());
  ASSERT_TRUE(maker.make().ok());
  ASSERT_TRUE(maker.make().ok());
  ASSERT_TRUE(maker.create().ok());
  fs::create_directory(maker.checkpoints() + "/somebody's");
  write_file(maker.checkpoints() + "/notes.txt", "");
  const auto listed = list_checkpoints(maker.checkpoints());
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 3U);
  EXPECT_TRUE((*listed)[0].complete);
  EXPECT_TRUE((*listed)[1].complete);
  EXPECT_FALSE((*listed)[2].complete);
  EXPECT_EQ((*listed)[0].name, checkpoint_name(checkpoint_time));
  EXPECT_TRUE((*listed)[0].manifest.ok());
  EXPECT_FALSE((*listed)[2].manifest.ok());
}

TEST(CheckpointList, IsEmptyWithoutADirectory) {
  const TempDir dir;
  const auto listed = list_checkpoints(dir.path() + "/none");
  ASSERT_TRUE(listed.ok());
  EXPECT_TRUE(listed->empty());
}

TEST(CheckpointPrune, KeepsTheNewestGoodOnes) {
  CheckpointMaker maker(support::seed());
  std::vector<std::string> paths;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(maker.make().ok());
    paths.push_back(maker.path());
  }
  std::mt19937_64 random(support::seed());
  flip_byte(paths[4] + "/manifest.json", random);  // A damaged checkpoint is not counted.
  const CheckpointOwner owner = {.database = maker.owner().database, .has_unmarked = true};
  const auto removed = prune_checkpoints(maker.checkpoints(), owner, 2);
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_EQ(*removed, (std::vector<std::string>{fs::path(paths[0]).filename(),
                                                fs::path(paths[1]).filename()}));
  for (size_t i = 0; i < paths.size(); ++i) EXPECT_EQ(fs::exists(paths[i]), i >= 2) << i;
  const auto again = prune_checkpoints(maker.checkpoints(), owner, 2);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(again->empty());
}

TEST(CheckpointPrune, LeavesOtherNamesAlone) {
  CheckpointMaker maker(support::seed());
  ASSERT_TRUE(maker.make().ok());
  fs::rename(maker.path(), maker.checkpoints() + "/before-the-upgrade");
  ASSERT_TRUE(prune_checkpoints(maker.checkpoints(), maker.owner(), 0).ok());
  EXPECT_TRUE(verify_checkpoint(maker.checkpoints() + "/before-the-upgrade").ok());
}

TEST(CheckpointRemove, RemovesPartialOnes) {
  CheckpointMaker maker(support::seed());
  const auto plan = maker.create();
  ASSERT_TRUE(plan.ok());
  fs::create_directory(partial_path(*plan) + "/db.tmp");
  const auto removed = remove_partial_checkpoints(maker.checkpoints(), maker.owner());
  ASSERT_TRUE(removed.ok()) << removed.status().message();
  EXPECT_EQ(*removed, std::vector<std::string>{plan->name});
  EXPECT_FALSE(fs::exists(partial_path(*plan)));
}

TEST(CheckpointRemove, RefusesForeignDirectories) {
  const TempDir dir;
  EXPECT_EQ(remove_checkpoint(dir.path() + "/none").code(), StatusCode::NotFound);
  const std::string path = dir.path() + "/photos";
  fs::create_directory(path);
  write_file(path + "/cat.jpg", "meow");
  EXPECT_EQ(remove_checkpoint(path).code(), StatusCode::InvalidArgument);
  EXPECT_EQ(read_file(path + "/cat.jpg"), "meow");
}

// A symbolic link is removed, and its target stays.
TEST(FileTree, RemovesALinkAndNotItsTarget) {
  const TempDir dir;
  fs::create_directory(dir.path() + "/kept");
  write_file(dir.path() + "/kept/file", "x");
  fs::create_directory(dir.path() + "/removed");
  fs::create_directory_symlink(dir.path() + "/kept", dir.path() + "/removed/link");
  ASSERT_TRUE(FileTree(nullptr).remove(dir.path() + "/removed").ok());
  EXPECT_FALSE(fs::exists(dir.path() + "/removed"));
  EXPECT_EQ(read_file(dir.path() + "/kept/file"), "x");
}

struct Refusal {
  const char* name;
  std::function<void(Restore&)> change;
  StatusCode code;
  const char* message;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

class RefusedRestore : public testing::TestWithParam<Refusal> {};

TEST_P(RefusedRestore, NamesTheReasonAndChangesNothing) {
  CheckpointMaker maker(support::seed());
  maker.write(5);
  ASSERT_TRUE(maker.make().ok());
  Restore how = {.from = maker.path(), .to = maker.dir() + "/restored"};
  GetParam().change(how);
  const auto names = [&] {
    std::vector<std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(maker.dir())) {
      out.push_back(entry.path());
    }
    std::ranges::sort(out);
    return out;
  };
  const auto before = names();
  const Result<Restored> restored = restore_checkpoint(how);
  ASSERT_FALSE(restored.ok());
  EXPECT_EQ(restored.status().code(), GetParam().code) << restored.status().message();
  EXPECT_NE(restored.status().message().find(GetParam().message), std::string::npos)
      << restored.status().message();
  EXPECT_EQ(names(), before);
}

INSTANTIATE_TEST_SUITE_P(
    Restore, RefusedRestore,
    testing::Values(Refusal{"ToEmptyDirectory", [](Restore& how) { fs::create_directory(how.to); },
                            StatusCode::InvalidArgument, "is there already"},
                    Refusal{"ToFile", [](Restore& how) { write_file(how.to, ""); },
                            StatusCode::InvalidArgument, "is there already"},
                    Refusal{"ToNowhere", [](Restore& how) { how.to += "/a/b"; },
                            StatusCode::InvalidArgument, "is not there: make it first"},
                    Refusal{"InTheWay",
                            [](Restore& how) {
                              fs::create_directory(how.to + ".restoring");
                              write_file(how.to + ".restoring/thesis.tex", "");
                            },
                            StatusCode::InvalidArgument, "thesis.tex"},
                    Refusal{"FromNothing", [](Restore& how) { how.from += "x"; },
                            StatusCode::NotFound, "is no checkpoint"},
                    Refusal{
                        "FromDataDirectory",
                        [](Restore& how) { how.from = fs::path(how.to).parent_path() / "data"; },
                        StatusCode::NotFound, "is no checkpoint"},
                    Refusal{"FromHalfMade",
                            [](Restore& how) {
                              fs::rename(how.from, how.from + ".partial");
                              how.from += ".partial";
                            },
                            StatusCode::NotFound, "half-made"}),
    [](const auto& one) { return one.param.name; });

TEST(Restore, DoesNotChangeTheCheckpoint) {
  for (const bool copy : {false, true}) {
    CheckpointMaker maker(support::seed());
    maker.write(20);
    ASSERT_TRUE(maker.make().ok());
    const Restore how = {.from = maker.path(), .to = maker.dir() + "/restored", .copy = copy};
    ASSERT_TRUE(restore_checkpoint(how).ok());
    StoreModel model = maker.model();
    Result<std::unique_ptr<Store>> store = Store::open({.data_dir = how.to});
    ASSERT_TRUE(store.ok());
    model.reopened((*store)->opening());
    for (int i = 0; i < 30; ++i) {
      Batch batch;
      model.next(batch, 20);
      ASSERT_TRUE((*store)->write(batch, true).ok());
    }
    std::atomic<bool> cancelled = false;
    ASSERT_TRUE((*store)->flush().ok());
    ASSERT_TRUE((*store)->compact_tombstones(cancelled, 0).ok());
    ASSERT_TRUE((*store)->close(model.next_id()).ok());
    fs::remove_all(how.to);
    const auto verified = verify_checkpoint(maker.path());
    EXPECT_TRUE(verified.ok()) << verified.status().message();
  }
}

TEST(Restore, WithoutSkippedIdsIsAnExactCopy) {
  CheckpointMaker maker(support::seed());
  maker.write(20);
  const auto made = maker.make();
  ASSERT_TRUE(made.ok());
  const Restore how = {.from = maker.path(), .to = maker.dir() + "/restored", .skip_ids = 0};
  const Result<Restored> restored = restore_checkpoint(how);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(restored->next_id, made->next_id);
  const auto store = Store::open({.data_dir = how.to});
  ASSERT_TRUE(store.ok()) << store.status().message();
  EXPECT_EQ((*store)->opening().next_id, made->next_id);
  EXPECT_EQ(difference(**store, maker.model().image()), "");
}

}  // namespace
}  // namespace perennial::store
