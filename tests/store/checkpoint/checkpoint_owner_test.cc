// Tests which database owns a checkpoint when several databases keep theirs in one directory.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/checkpoint/checkpoint.h"
#include "store/disk/identity.h"
#include "store/offline/raw_store.h"
#include "store/offline/restore.h"
#include "tests/store/checkpoint/checkpoint_maker.h"
#include "tests/support/seed.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* other_identity = "15ecf2bf-405a-43b0-968d-aa423b74e38e";

// Opens the store and returns its identity.
std::string identity_at_open(const std::string& data_dir) {
  const auto store = Store::open({.data_dir = data_dir});
  EXPECT_TRUE(store.ok());
  return store.ok() ? (*store)->identity() : "";
}

TEST(Identity, IsKeptFromOneStartToTheNext) {
  const TempDir dir;
  const std::string first = identity_at_open(dir.data_dir());
  EXPECT_EQ(first.size(), 36U);
  EXPECT_EQ(identity_at_open(dir.data_dir()), first);
  EXPECT_EQ(*read_identity(dir.data_dir()), first);
}

TEST(Identity, DiffersBetweenDataDirectories) {
  const TempDir a;
  const TempDir b;
  EXPECT_NE(identity_at_open(a.data_dir()), identity_at_open(b.data_dir()));
}

TEST(Identity, IsMadeAnewWhenItsFileIsMissing) {
  const TempDir dir;
  const std::string first = identity_at_open(dir.data_dir());
  fs::remove(dir.data_dir() + "/db/IDENTITY");
  EXPECT_EQ(*read_identity(dir.data_dir()), "");
  const std::string second = identity_at_open(dir.data_dir());
  EXPECT_EQ(second.size(), 36U);
  EXPECT_NE(second, first);
}

struct TextCase {
  std::string text;
  bool is_identity;
};

TEST(Identity, MustBeFitForAFileName) {
  const TextCase cases[] = {{"", false},
                            {"1234567", false},
                            {"12345678", true},
                            {std::string(64, 'a'), true},
                            {std::string(65, 'a'), false},
                            {"../../../x", false},
                            {"1234.5678", false},
                            {std::string("1234\0005678", 9), false},
                            {other_identity, true}};
  const TempDir dir;
  identity_at_open(dir.data_dir());
  for (const TextCase& one : cases) {
    EXPECT_EQ(is_identity(one.text), one.is_identity) << one.text;
    if (one.text.empty()) continue;  // RocksDB replaces an empty identity.
    std::ofstream(dir.data_dir() + "/db/IDENTITY") << one.text << '\n';
    EXPECT_EQ(*read_identity(dir.data_dir()), one.is_identity ? one.text : "") << one.text;
    EXPECT_EQ(identity_at_open(dir.data_dir()), one.is_identity ? one.text : "") << one.text;
  }
}

// Both databases may be served at once, and must not remove each other's checkpoints.
TEST(Identity, ARestoredDirectoryHasAnotherIdentity) {
  CheckpointMaker maker(support::seed());
  maker.write(10);
  ASSERT_TRUE(maker.make().ok());
  const std::string source = maker.owner().database;
  for (const uint64_t skip_ids : {0, 1000}) {
    const std::string to = maker.dir() + "/restored-" + std::to_string(skip_ids);
    ASSERT_TRUE(restore_checkpoint({.from = maker.path(), .to = to, .skip_ids = skip_ids}).ok());
    EXPECT_NE(identity_at_open(to), source);
  }
}

TEST(Identity, IsNotCopiedIntoACheckpointOfAMigration) {
  const TempDir dir;
  const std::string identity = identity_at_open(dir.data_dir());
  auto store = RawStore::open({.data_dir = dir.data_dir()});
  ASSERT_TRUE(store.ok()) << store.status().message();
  const Result<std::string> path = (*store)->make_checkpoint(checkpoint_time, "0.1.0");
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_FALSE(fs::exists(*path + "/db/IDENTITY"));
  EXPECT_EQ(read_checkpoint(*path)->database, identity);
}

class Owner : public testing::Test {
 protected:
  // Makes a checkpoint of the store whose manifest names `database`. Returns its name.
  std::string make(const std::string& database) {
    Result<CheckpointPlan> plan = maker_.create();
    EXPECT_TRUE(plan.ok());
    const std::string old_path = partial_path(*plan);
    plan->database = database;
    fs::rename(old_path, partial_path(*plan));
    const Result<CheckpointManifest> made = complete_checkpoint(*plan);
    EXPECT_TRUE(made.ok() && made->database == database);
    return made.ok() ? made->name : "";
  }
  std::vector<std::string> pruned(const CheckpointOwner& owner, size_t keep) const {
    auto removed = prune_checkpoints(maker_.checkpoints(), owner, keep);
    EXPECT_TRUE(removed.ok()) << removed.status().message();
    return removed.ok() ? removed.take() : std::vector<std::string>();
  }

  CheckpointMaker maker_{support::seed()};
  const std::string own_ = maker_.owner().database;
};

TEST_F(Owner, IsInTheManifestAndInTheList) {
  make(own_);
  make("");
  const auto partial = maker_.create();
  ASSERT_TRUE(partial.ok());
  EXPECT_TRUE(partial_path(*partial).ends_with("Z." + own_ + ".partial"));
  const auto listed = list_checkpoints(maker_.checkpoints());
  ASSERT_TRUE(listed.ok() && listed->size() == 3);
  EXPECT_EQ((*listed)[0].database, own_);
  EXPECT_EQ((*listed)[1].database, "");
  EXPECT_TRUE((*listed)[1].manifest.ok());
  EXPECT_EQ((*listed)[2].database, own_);
  EXPECT_EQ((*listed)[2].name, partial->name);
}

TEST_F(Owner, CountsAndRemovesItsOwnOnly) {
  const std::string first = make(own_);
  make(other_identity);
  make("");
  const std::string second = make(own_);
  make(other_identity);
  make("");
  EXPECT_THAT(pruned({.database = own_}, 1), ElementsAre(first));
  EXPECT_THAT(pruned({.database = own_}, 1), IsEmpty());
  EXPECT_THAT(pruned({.database = own_}, 0), ElementsAre(second));
  EXPECT_EQ(list_checkpoints(maker_.checkpoints())->size(), 4U);
}

TEST_F(Owner, CountsUnmarkedOnesWhenItOwnsThem) {
  const std::string first = make("");
  make(other_identity);
  const std::string second = make(own_);
  make("");
  EXPECT_THAT(pruned({.database = own_, .has_unmarked = true}, 1), ElementsAre(first, second));
}

TEST_F(Owner, WithoutAnIdentityOwnsNone) {
  make(own_);
  make("");
  EXPECT_THAT(pruned({}, 0), IsEmpty());
}

TEST_F(Owner, RemovesOnlyItsOwnPartialOnes) {
  const std::string base = maker_.checkpoints() + "/2026-01-01T00-00-00.000Z";
  for (const std::string& ending : {"." + own_, "." + std::string(other_identity), std::string()}) {
    fs::create_directories(base + ending + ".partial/db");
  }
  ASSERT_EQ(remove_partial_checkpoints(maker_.checkpoints(), {.database = own_})->size(), 1U);
  EXPECT_FALSE(fs::exists(base + "." + own_ + ".partial"));
  const CheckpointOwner unmarked = {.database = own_, .has_unmarked = true};
  ASSERT_EQ(remove_partial_checkpoints(maker_.checkpoints(), unmarked)->size(), 1U);
  EXPECT_FALSE(fs::exists(base + ".partial"));
  EXPECT_TRUE(fs::exists(base + "." + other_identity + ".partial"));
}

TEST_F(Owner, OwnsUnmarkedOnesOnlyInItsOwnDirectory) {
  const std::string own_dir = maker_.data_dir() + "/checkpoints";
  fs::create_directory(own_dir);
  const auto has_unmarked = [&](const std::string& dir) {
    return checkpoint_owner(maker_.data_dir(), own_, dir).has_unmarked;
  };
  EXPECT_TRUE(has_unmarked(own_dir));
  EXPECT_TRUE(has_unmarked(own_dir + "/."));
  EXPECT_FALSE(has_unmarked(maker_.checkpoints()));
  EXPECT_FALSE(has_unmarked(maker_.dir() + "/none"));
  // Several data directories may link to the same directory.
  fs::remove(own_dir);
  fs::create_directory_symlink(maker_.checkpoints(), own_dir);
  EXPECT_FALSE(has_unmarked(own_dir));
}

}  // namespace
}  // namespace perennial::store
