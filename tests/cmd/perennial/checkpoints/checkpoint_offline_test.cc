// Lists and removes checkpoints of several databases in one directory.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/checkpoints/commands.h"
#include "store/checkpoint/checkpoint.h"
#include "store/disk/identity.h"
#include "store/store.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class SharedCheckpoints : public testing::Test {
 protected:
  SharedCheckpoints() {
    fs::create_directory(shared());
    for (const std::string& data_dir : {mine(), other()}) fs::create_directory(data_dir);
  }

  std::string mine() const { return dir_.path() + "/mine"; }
  std::string other() const { return dir_.path() + "/other"; }
  std::string shared() const { return dir_.path() + "/shared"; }

  // Makes a checkpoint of this data directory and returns its name. `marked` says whether it names
  // its database.
  std::string make(const std::string& data_dir, const std::string& to, bool marked = true) {
    const Nanos created = 1'795'264'805'123'000'000 + made_++ * nanos_per_second;
    auto store = store::Store::open({.data_dir = data_dir});
    EXPECT_TRUE(store.ok());
    const store::CheckpointPlan cut = {.dir = to,
                                       .name = store::checkpoint_name(created),
                                       .created = created,
                                       .database = marked ? (*store)->identity() : "",
                                       .index = (*store)->opening().last_index};
    EXPECT_TRUE((*store)->create_checkpoint(store::partial_path(cut)).ok());
    EXPECT_TRUE(store::complete_checkpoint(cut).ok());
    return cut.name;
  }

  static Names names_in(const std::string& dir) {
    Names names;
    for (const auto& entry : fs::directory_iterator(dir)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string listed(const CheckpointListOptions& options) {
    testing::internal::CaptureStdout();
    EXPECT_TRUE(checkpoint_list(options).ok());
    return testing::internal::GetCapturedStdout();
  }
  static std::string pruned(const CheckpointPlace& place, uint64_t keep) {
    testing::internal::CaptureStdout();
    EXPECT_TRUE(checkpoint_prune({.place = place, .keep = keep, .consent = {.yes = true}}).ok());
    return testing::internal::GetCapturedStdout();
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  support::TempDir dir_;
  int made_ = 0;
};

TEST_F(SharedCheckpoints, OfADataDirectoryArePrunedAlone) {
  const std::string old = make(mine(), shared());
  Names kept = {make(other(), shared()), make(other(), shared(), false)};
  kept.push_back(make(mine(), shared()));
  const std::string out = pruned({.data_dir = mine(), .dir = shared()}, 1);
  EXPECT_TRUE(has(out, "removed " + old)) << out;
  EXPECT_TRUE(has(out, "2 of other databases, or that do not say whose they are, were left alone"))
      << out;
  EXPECT_EQ(names_in(shared()), kept);
}

// The tests have no terminal, and so nobody can be asked.
TEST_F(SharedCheckpoints, ArePrunedOnlyWithConsent) {
  const Names all = {make(mine(), shared()), make(mine(), shared()), make(mine(), shared())};
  CheckpointPruneOptions options = {.place = {.data_dir = mine(), .dir = shared()}, .keep = 1};
  const Status refused = checkpoint_prune(options);
  EXPECT_EQ(refused.code(), StatusCode::InvalidArgument);
  const std::string would = "remove 2 checkpoints (" + all[0] + " to " + all[1] + ", ";
  EXPECT_TRUE(has(refused.message(), "this would " + would)) << refused.message();
  options.consent.dry_run = true;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(checkpoint_prune(options).ok());
  const std::string out = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(out.starts_with("would " + would)) << out;
  options.consent.json = true;
  testing::internal::CaptureStdout();
  EXPECT_TRUE(checkpoint_prune(options).ok());
  const auto json = nlohmann::json::parse(testing::internal::GetCapturedStdout());
  EXPECT_EQ(json["dry_run"], true);
  EXPECT_EQ(json["removed"], (Names{all[0], all[1]}));
  EXPECT_EQ(names_in(shared()), all);
}

TEST_F(SharedCheckpoints, WithoutADataDirectoryAreCountedForEachDatabase) {
  const Names old = {make(mine(), shared()), make(other(), shared()),
                     make(mine(), shared(), false)};
  const Names kept = {make(mine(), shared()), make(mine(), shared(), false),
                      make(other(), shared())};
  const std::string out = pruned({.data_dir = "", .dir = shared()}, 1);
  EXPECT_EQ(names_in(shared()), kept);
  EXPECT_EQ(out, "removed " + old[0] + "\nremoved " + old[1] + "\nremoved " + old[2] + "\n");
}

TEST_F(SharedCheckpoints, WithoutAnOwnerBelongToTheDirectoryTheyAreIn) {
  const std::string dir = mine() + "/checkpoints";
  make(mine(), shared());
  fs::create_directory(dir);
  make(mine(), dir, false);
  const Names kept = {make(mine(), dir)};
  EXPECT_FALSE(has(pruned({.data_dir = mine(), .dir = ""}, 1), "left alone"));
  EXPECT_EQ(names_in(dir), kept);
}

TEST_F(SharedCheckpoints, ThatWereTemporaryAreRemovedWhereNoServerUsesTheDataDirectory) {
  const Names kept = {make(mine(), shared())};
  const std::string left =
      shared() + "/2026-01-01T00-00-00.000Z." + *store::read_identity(mine()) + ".temporary";
  fs::create_directories(left + "/db");
  EXPECT_EQ(pruned({.data_dir = "", .dir = shared()}, 1), "nothing to remove\n");
  EXPECT_EQ(names_in(shared()).size(), 2U);
  {
    const auto server = store::Store::open({.data_dir = mine()});
    EXPECT_EQ(pruned({.data_dir = mine(), .dir = shared()}, 1), "nothing to remove\n");
    EXPECT_TRUE(fs::exists(left));
  }
  EXPECT_EQ(pruned({.data_dir = mine(), .dir = shared()}, 1),
            "removed 2026-01-01T00-00-00.000Z.temporary, half-made\n");
  EXPECT_EQ(names_in(shared()), kept);
}

TEST_F(SharedCheckpoints, AreListedWithTheirOwners) {
  make(mine(), shared());
  EXPECT_FALSE(has(listed({.place = {.data_dir = "", .dir = shared()}}), "DATABASE"));
  EXPECT_FALSE(has(listed({.place = {.data_dir = mine(), .dir = shared()}}), "DATABASE"));
  const std::string others = listed({.place = {.data_dir = other(), .dir = shared()}});
  const std::string identity = *store::read_identity(mine());
  EXPECT_TRUE(has(others, "DATABASE"));
  EXPECT_TRUE(has(others, "complete   " + identity.substr(0, 8) + "\n")) << others;
  make(other(), shared());
  make(other(), shared(), false);
  EXPECT_TRUE(has(listed({.place = {.data_dir = "", .dir = shared()}}), "DATABASE"));
  const std::string own = listed({.place = {.data_dir = other(), .dir = shared()}});
  EXPECT_TRUE(has(own, "complete   this one\n")) << own;
  EXPECT_TRUE(has(own, "complete   -\n")) << own;
}

TEST_F(SharedCheckpoints, AreListedAsJsonWithTheIdentityOfTheDatabase) {
  make(mine(), shared());
  make(mine(), shared(), false);
  const auto json = nlohmann::json::parse(
      listed({.place = {.data_dir = "", .dir = shared()}, .json = true}), nullptr, false);
  ASSERT_TRUE(json.is_array() && json.size() == 2);
  EXPECT_EQ(json[0]["database"], *store::read_identity(mine()));
  EXPECT_TRUE(json[1]["database"].is_null());
}

}  // namespace
}  // namespace perennial::tool
