// The age of the oldest ready job of a tube, in states in which another definition is another
// number: the age of the job that is next, the time since a put, or only those that may be
// reserved.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr Nanos s = nanos_per_second;
constexpr ConnId client = 1;

// An engine whose state is on a disk: restart() makes another one of the rows that it has written.
class World {
 public:
  World() { begin(); }

  void apply(Event event, ConnId conn = client) {
    Output output;
    engine_->apply({.now = now_, .conn = conn, .event = std::move(event)}, output);
    for (const Transition& transition : output.transitions) fold(disk_, transition);
    engine_->check();
  }
  void advance(int seconds) {
    now_ += seconds * s;
    apply(Tick{}, 0);
  }
  void put(uint32_t priority = 0, uint32_t delay_s = 0, PutOptions options = {}) {
    Put put = {priority, delay_s, 60, 1};
    if (options != PutOptions()) put.options.make() = std::move(options);
    apply(Command{std::move(put)});
  }
  void reserve(JobId id) { apply(Command{ReserveJob{id}}); }
  void restart(int seconds_down = 0, Nanos clock_step = 0) {
    now_ += seconds_down * s + clock_step;
    begin();
  }

  double age(std::string_view tube = "default") const {
    const auto stats = engine_->view().tube_statistics(tube);
    return stats ? static_cast<double>(stats->oldest_ready_age) / s : -1;
  }
  const Engine& engine() const { return *engine_; }
  Image& disk() { return disk_; }

 private:
  void begin() {
    engine_ = std::make_unique<Engine>(Limits());
    if (disk_.tubes.empty()) disk_.tubes.emplace(0, "default");
    for (const auto& [id, name] : disk_.tubes) EXPECT_TRUE(engine_->restore_tube(id, name).ok());
    for (const auto& [id, pause] : disk_.pauses) {
      EXPECT_TRUE(engine_->restore_pause({id, pause.first, pause.second}, now_).ok());
    }
    for (const auto& [id, row] : disk_.jobs) EXPECT_TRUE(engine_->restore_job(row, now_).ok());
    Output output;
    EXPECT_TRUE(engine_->finish_restore(disk_.id_limit, now_, output).ok());
    for (const Transition& transition : output.transitions) fold(disk_, transition);
    engine_->check();
    apply(Opened{});
    apply(Tick{}, 0);
  }

  Image disk_;
  std::unique_ptr<Engine> engine_;
  Nanos now_ = start;
};

struct AgeCase {
  std::string name;
  double age;  // In seconds, of the tube default, with the last job put at the end.
  std::function<void(World&)> run;
};
class OldestReady : public testing::TestWithParam<AgeCase> {};

TEST_P(OldestReady, IsTheLongestTimeSinceAJobBecameReady) {
  World world;
  GetParam().run(world);
  EXPECT_EQ(world.age(), GetParam().age);
}

TEST_P(OldestReady, IsKnownAfterARestart) {
  World world;
  GetParam().run(world);
  world.restart(7);
  EXPECT_EQ(world.age(), GetParam().age > 0 ? GetParam().age + 7 : 0);
}

// The last job with the best priority is put 3 s before the end, where it says "fresh".
void fresh(World& world) {
  world.put(0);
  world.advance(3);
}

INSTANTIATE_TEST_SUITE_P(
    Engine, OldestReady,
    testing::Values(AgeCase{"NoJob", 0, [](World&) {}},
                    AgeCase{"OneJob", 5,
                            [](World& world) {
                              world.put();
                              world.advance(5);
                            }},
                    AgeCase{"AnotherOneIsNext", 1443,
                            [](World& world) {
                              world.put(4000);
                              world.advance(1440);
                              fresh(world);
                            }},
                    AgeCase{"ADelayIsOver", 14,
                            [](World& world) {
                              world.put(4000, 60);
                              world.advance(60);
                              world.advance(11);
                              fresh(world);
                            }},
                    AgeCase{"DelayedJobsAreNotReady", 3,
                            [](World& world) {
                              world.put(4000, 600);
                              world.advance(60);
                              fresh(world);
                            }},
                    AgeCase{"Released", 13,
                            [](World& world) {
                              world.put();
                              world.advance(30);
                              world.reserve(1);
                              world.advance(30);
                              world.apply(Command{Release{1, 4000, 0}});
                              world.advance(10);
                              fresh(world);
                            }},
                    AgeCase{"ReleasedWithADelay", 5,
                            [](World& world) {
                              world.put();
                              world.advance(30);
                              world.reserve(1);
                              world.apply(Command{Release{1, 4000, 20}});
                              world.advance(20);
                              world.advance(2);
                              fresh(world);
                            }},
                    AgeCase{"TheTtrEnded", 9,
                            [](World& world) {
                              world.put(4000);
                              world.reserve(1);
                              world.advance(60);
                              world.advance(6);
                              fresh(world);
                            }},
                    AgeCase{"TheConnectionClosed", 11,
                            [](World& world) {
                              world.put(4000);
                              world.apply(Opened{}, 2);
                              world.apply(Command{ReserveJob{1}}, 2);
                              world.advance(30);
                              world.apply(Closed{}, 2);
                              world.advance(8);
                              fresh(world);
                            }},
                    AgeCase{"Kicked", 8,
                            [](World& world) {
                              world.put(4000);
                              world.reserve(1);
                              world.apply(Command{Bury{1, 4000}});
                              world.advance(50);
                              world.apply(Command{Kick{1}});
                              world.advance(5);
                              fresh(world);
                            }},
                    AgeCase{"KickedWhileDelayed", 8,
                            [](World& world) {
                              world.put(4000, 600);
                              world.advance(50);
                              world.apply(Command{KickJob{1}});
                              world.advance(5);
                              fresh(world);
                            }},
                    AgeCase{"TheOldestIsReserved", 3,
                            [](World& world) {
                              world.put();
                              world.advance(30);
                              world.reserve(1);
                              fresh(world);
                            }},
                    AgeCase{"TheOldestIsDeleted", 23,
                            [](World& world) {
                              world.put(4000);
                              world.advance(30);
                              world.put(4000);
                              world.advance(20);
                              world.apply(Command{Delete{1}});
                              fresh(world);
                            }},
                    // The first is reserved, and keeps the second from being reserved.
                    AgeCase{"Parked", 43,
                            [](World& world) {
                              PutOptions key;
                              key.concurrency.emplace().key = "k";
                              world.put(0, 0, key);
                              world.reserve(1);
                              world.put(4000, 0, key);
                              world.advance(40);
                              fresh(world);
                            }},
                    AgeCase{"Paused", 30,
                            [](World& world) {
                              world.put();
                              world.apply(Command{PauseTube{"default", 3600}});
                              world.advance(30);
                            }},
                    AgeCase{"AChangeOfTheJobIsNoBreak", 33,
                            [](World& world) {
                              world.put();
                              world.advance(20);
                              world.put();
                              world.advance(10);
                              world.apply(Command{SetJob{.id = 1, .priority = 5}});
                              fresh(world);
                            }},
                    AgeCase{"AMoveIsNoBreak", 33,
                            [](World& world) {
                              world.put();
                              world.apply(Command{SetJob{.id = 1, .tube = "other"}});
                              world.advance(20);
                              world.put();
                              world.advance(10);
                              world.apply(Command{MoveTube{"other", "default"}});
                              fresh(world);
                            }},
                    AgeCase{"ASetDelayIsABreak", 7,
                            [](World& world) {
                              world.put();
                              world.advance(20);
                              world.apply(Command{SetJob{.id = 1, .delay = Duration{10 * s}}});
                              world.advance(10);
                              world.advance(4);
                              fresh(world);
                            }}),
    [](const auto& param) { return param.param.name; });

// A clock that was set back makes no job ready in the future.
TEST(OldestReadyRestart, IsNeverBelowZero) {
  World world;
  world.put();
  world.reserve(1);
  world.advance(50);
  world.apply(Command{Release{1, 0, 0}});
  world.restart(0, -40 * s);
  EXPECT_EQ(world.age(), 0);
  world.advance(5);
  EXPECT_EQ(world.age(), 5);
}

// As import-binlog and load write a row.
TEST(OldestReadyRestart, AJobOfWhichNothingIsKnownIsReadySinceTheStart) {
  World world;
  world.put();
  world.reserve(1);
  world.apply(Command{Release{1, 0, 0}});
  world.disk().jobs.at(1).order = 0;
  world.restart(100);
  EXPECT_EQ(world.age(), 0);
  world.advance(5);
  EXPECT_EQ(world.age(), 5);
}

// Jobs come by their ids, and became ready in another order.
TEST(OldestReadyRestart, FindsTheOldestWhateverTheOrderOfIds) {
  World world;
  for (int i = 0; i < 50; ++i) {
    world.put();
    world.advance(1);
  }
  for (const JobId id : {1, 7, 30, 2, 50}) {
    world.reserve(id);
    world.apply(Command{Release{id, 0, 0}});
    world.advance(1);
  }
  world.restart();
  EXPECT_EQ(world.age(), 53);  // That of job 3.
  for (JobId id = 3; id < 50; ++id) {
    if (id != 7 && id != 30) world.apply(Command{Delete{id}});
  }
  EXPECT_EQ(world.age(), 5);
  world.apply(Command{Delete{1}});
  EXPECT_EQ(world.age(), 4);
}

}  // namespace
}  // namespace perennial::engine
