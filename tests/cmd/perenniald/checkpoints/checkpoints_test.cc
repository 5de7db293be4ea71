#include "cmd/perenniald/checkpoints/checkpoints.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <uv.h>

#include "store/commit/local_log.h"
#include "store/store.h"
#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr ConnId ann = 1;
constexpr ConnId bob = 2;
constexpr int turns_max = 100'000;  // Of a wait: fifty seconds at least.

// Checkpoints between a core and a store that are real, on a loop that a test turns by itself.
class CheckpointsTest : public testing::Test {
 protected:
  CheckpointsTest() : core_(core_options()) {
    EXPECT_EQ(uv_loop_init(&loop_), 0);
    store::Options options;
    options.data_dir = data_dir_;
    Result<std::unique_ptr<store::Store>> opened = store::Store::open(options);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    store_ = opened.take();
    const store::Opening& opening = store_->opening();
    core_.resume(opening.epoch, opening.last_index, opening.next_id, clock_.now());
    log_ = std::make_unique<store::LocalLog>(*store_, [] {});
    checkpoints_.emplace(
        loop_, core_, clock_,
        Checkpoints::Settings{.dir = dir_, .data_dir = data_dir_, .server_version = "1"});
    const Status ready = checkpoints_->open(store_->identity());
    EXPECT_TRUE(ready.ok()) << ready.message();
    for (const ConnId conn : {ann, bob}) core_.open(conn, clock_.now(), {.may_checkpoint = true});
  }
  ~CheckpointsTest() override {
    checkpoints_->stop();
    checkpoints_->close();
    log_->stop();
    while (uv_run(&loop_, UV_RUN_DEFAULT) != 0) continue;
    EXPECT_EQ(uv_loop_close(&loop_), 0);
  }

  static core::Options core_options() {
    return {.process_facts = [] { return ProcessFacts{}; },
            .store_facts = [] { return StoreFacts{}; }};
  }
  void say(ConnId conn, std::string_view line) {
    core_.session(conn)->on_bytes(line, clock_.now());
  }
  // One turn, in the order of the server's.
  void turn() {
    checkpoints_->order_checkpoint(*log_);
    if (log_->idle() && core_.has_batch()) log_->append(core_.take_batch(clock_.now()));
    checkpoints_->order_checkpoint(*log_);
    store::Log::Update update = log_->collect();
    core_.on_committed(update.indices.reply_index(), update.indices.durable, clock_.now());
    for (store::Batch& batch : update.batches) core_.recycle(std::move(batch));
    if (update.checkpoint) checkpoints_->on_checkpoint_created(*update.checkpoint);
    checkpoints_->remove_given_up();
    uv_run(&loop_, UV_RUN_NOWAIT);
    clock_.end_turn();
    usleep(500);  // The log and the verification have threads of their own.
  }
  // What this client is answered, once it is.
  std::string hear(ConnId conn) {
    const core::Session& session = *core_.session(conn);
    for (int turns = 0; turns < turns_max && session.output().empty(); ++turns) turn();
    return hear_now(conn);
  }
  // The same, without another turn.
  std::string hear_now(ConnId conn) {
    core::Session& session = *core_.session(conn);
    std::string heard(session.output());
    session.on_written(heard.size());
    return heard;
  }
  // The directory that an answer names.
  static std::string path_in(const std::string& answer) {
    constexpr std::string_view key = "path: ";
    const size_t at = answer.find(key);
    if (at == std::string::npos) return "";
    std::string path = answer.substr(at + key.size(), answer.find('\n', at) - at - key.size());
    std::erase(path, '"');
    return path;
  }

  const support::TempDir temp_;
  const std::string data_dir_ = temp_.path() + "/data";
  const std::string dir_ = data_dir_ + "/checkpoints";
  uv_loop_t loop_ = {};
  TurnClock clock_;
  core::Core core_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<store::LocalLog> log_;
  std::optional<Checkpoints> checkpoints_;
};

TEST_F(CheckpointsTest, ACheckpointHoldsWhatWasPutBeforeItWasAskedFor) {
  EXPECT_EQ(checkpoints_->age_s(), -1);
  say(ann, "put 0 0 60 1\r\nx\r\n");
  EXPECT_EQ(hear(ann), "INSERTED 1\r\n");
  say(ann, "checkpoint\r\n");
  const std::string answer = hear(ann);
  EXPECT_THAT(answer, StartsWith("OK "));
  EXPECT_THAT(answer, HasSubstr("jobs: 1\n"));
  EXPECT_TRUE(std::filesystem::exists(path_in(answer) + "/manifest.json")) << answer;
  EXPECT_GE(checkpoints_->age_s(), 0);
}

TEST_F(CheckpointsTest, WhoAsksBeforeItIsCreatedSharesIt) {
  say(ann, "checkpoint\r\n");
  say(bob, "checkpoint\r\n");
  const std::string path = path_in(hear(ann));
  EXPECT_NE(path, "");
  EXPECT_EQ(path_in(hear(bob)), path);
}

TEST_F(CheckpointsTest, ATemporaryOneGoesWithItsConnection) {
  say(ann, "checkpoint temporary\r\n");
  const std::string path = path_in(hear(ann));
  ASSERT_TRUE(std::filesystem::exists(path)) << path;
  core_.session(ann)->on_close(clock_.now());
  for (int turns = 0; turns < turns_max && std::filesystem::exists(path); ++turns) turn();
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The clock stands still during a turn.
TEST_F(CheckpointsTest, ThoseOfOneMomentHaveNamesOfTheirOwn) {
  std::set<std::string> paths;
  for (const ConnId conn : {ann, bob}) {
    say(conn, "checkpoint temporary\r\n");
    checkpoints_->order_checkpoint(*log_);
    store::Log::Update update;
    for (int tries = 0; tries < turns_max && !update.checkpoint; ++tries) {
      update = log_->collect();
      usleep(500);
    }
    ASSERT_TRUE(update.checkpoint);
    checkpoints_->on_checkpoint_created(*update.checkpoint);
    paths.insert(path_in(hear_now(conn)));
  }
  EXPECT_EQ(paths.size(), 2U);
  for (const std::string& path : paths) EXPECT_TRUE(std::filesystem::exists(path)) << path;
}

TEST_F(CheckpointsTest, WithoutItsDirectoryItFailsAndTheServerGoesOn) {
  std::filesystem::remove_all(dir_);
  std::ofstream(dir_) << "a file";
  say(ann, "checkpoint\r\n");
  EXPECT_THAT(hear(ann), StartsWith("FAILED "));
  std::filesystem::remove(dir_);
  say(ann, "checkpoint\r\n");
  EXPECT_THAT(hear(ann), StartsWith("OK "));
}

TEST_F(CheckpointsTest, WhoWaitsForOneIsAnsweredAtAStop) {
  say(ann, "checkpoint\r\n");
  checkpoints_->stop();
  const std::string answer = hear(ann);
  EXPECT_THAT(answer, StartsWith("FAILED "));
  EXPECT_THAT(answer, HasSubstr("the server is stopping"));
}

}  // namespace
}  // namespace perennial::perenniald
