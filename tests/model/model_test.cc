// The engine compared with the model under random inputs. After each step both give the same
// replies and the same next deadline, Engine::check() passes, and folding all transitions from
// empty gives the engine's own state. Batches of random size give this state, too, and an engine
// that is restored from them continues like the model.
//
// The load has every command and option of the engine, schedules with wall clocks that jump,
// refused puts and restarts. It is blind to bounds of turns, to limits, and to what is on disk. The
// batches have no schedules, because the store has none yet: those of a restart come from the fold.

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/types/later.h"
#include "store/batch/batch.h"
#include "store/format/format.h"
#include "tests/model/input_generator.h"
#include "tests/model/model_engine.h"
#include "tests/support/fake_calendar.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"
#include "wire/format.h"

namespace perennial::model {
namespace {

std::string show(const std::vector<engine::ConnReply>& replies) {
  std::string text;
  for (const engine::ConnReply& reply : replies) {
    text += std::to_string(reply.conn) + ": ";
    if (const auto* notes = std::get_if<NotesOf>(&reply.reply)) {
      text += fmt::format("NOTES {} {}\r\n", notes->job, notes->had);
    } else if (const auto* job = std::get_if<JobReply>(&reply.reply)) {
      wire::append_job_head(text, *job);
    } else if (const auto* jobs = std::get_if<std::unique_ptr<JobsReserved>>(&reply.reply)) {
      wire::append_batch_head(text, **jobs);
      for (const JobReply& each : (*jobs)->jobs) wire::append_job_head(text, each);
    } else if (const auto* stats = std::get_if<std::unique_ptr<EngineStats>>(&reply.reply)) {
      wire::append_stats(text, **stats, {}, {});
    } else {
      wire::append_reply(text, reply.reply);
    }
  }
  return text;
}

std::string show(const std::map<std::string, ScheduleStored>& schedules) {
  std::string text;
  for (const auto& [name, stored] : schedules) {
    const ScheduleProgress& progress = stored.progress;
    text += fmt::format(
        "{}: when {} jitter {} missed_max {} overlap {}; planned {} last {} {} job {} fired {} "
        "skipped {} missed {} state {} paused {}\n",
        name, stored.schedule->when.index(), stored.schedule->jitter, stored.schedule->missed_max,
        static_cast<int>(stored.schedule->overlap), progress.planned.value_or(0),
        progress.last_planned, progress.last_fired, progress.last_job, progress.fired,
        progress.skipped, progress.missed, static_cast<int>(progress.state), progress.is_paused);
  }
  return text;
}

// What the schedules of a run have put: no planned time twice, and where all missed times are made
// up for, none is left out. It reads the transitions alone.
class ScheduleLedger {
 public:
  // `is_run`: a client has asked for a job beside the planned times.
  void read(const Transition& transition, const Calendar& calendar, bool is_run) {
    if (const auto* const stored = std::get_if<ScheduleStored>(&transition)) {
      Known& known = schedules_[stored->schedule->name];
      if (known.when != stored->schedule->when) known = {.when = stored->schedule->when};
      known.is_whole = stored->schedule->missed_max == schedule_missed_limit;
      known.next.reset();
    } else if (const auto* const deleted = std::get_if<ScheduleDeleted>(&transition)) {
      schedules_.erase(deleted->name);
    } else if (const auto* const changed = std::get_if<ScheduleChanged>(&transition)) {
      // Behind a pause, a zone that was unknown, or a time that is skipped, it begins anew.
      Known& known = schedules_.at(changed->name);
      const ScheduleProgress& progress = changed->progress;
      const bool goes_on = !progress.is_paused && progress.state == ScheduleState::Active &&
                           progress.skipped == known.skipped &&
                           progress.is_paused == known.is_paused;
      if (!goes_on) known.next.reset();
      known.skipped = progress.skipped;
      known.is_paused = progress.is_paused;
    } else if (const auto* const moved = std::get_if<JobMoved>(&transition)) {
      const bool is_fired = !moved->before && moved->after->fields &&
                            moved->after->fields->schedule && !moved->after->fields->restored;
      if (is_fired && !is_run) fired(*moved->after->fields->schedule, calendar);
    }
  }
  size_t checked() const { return checked_; }

 private:
  struct Known {
    ScheduleWhen when = {};
    bool is_whole = false;
    uint64_t skipped = 0;
    bool is_paused = false;
    std::set<Nanos> fired = {};
    std::optional<Nanos> next = {};
  };

  void fired(const ScheduleOrigin& origin, const Calendar& calendar) {
    Known& known = schedules_.at(origin.name);
    ASSERT_TRUE(known.fired.insert(origin.planned).second) << origin.name << " fired twice";
    if (!known.is_whole) return;
    if (known.next) {
      ASSERT_EQ(*known.next, origin.planned) << origin.name << " left a time out";
      ++checked_;
    }
    const Calendar::Next next = calendar.next_after(known.when, origin.planned);
    known.next = next.at;
  }

  std::map<std::string, Known> schedules_;
  size_t checked_ = 0;
};

// One run: gives the same random inputs to the engine and to the model, and writes the transitions
// to a store in memory.
class DifferentialRun {
 public:
  DifferentialRun(InputGenerator inputs, uint32_t batch_inputs)
      : inputs_(std::move(inputs)), batch_inputs_(batch_inputs), engine_(make_engine()) {}

  // How many times of the schedules that leave none out were put behind the one before.
  size_t checked_times() const { return ledger_.checked(); }

  void step() {
    if (inputs_.chance(100)) return reopen();
    const engine::Input input = inputs_.next(model_);
    // An ended job is read before it goes, so its end is written by then.
    const bool is_read = std::holds_alternative<engine::Restore>(input.event) ||
                         std::holds_alternative<engine::EndedOver>(input.event);
    if (is_read) commit();
    output_.clear();
    engine_->apply(input, output_);
    const auto* const command = std::get_if<Command>(&input.event);
    const bool is_run = command != nullptr && std::holds_alternative<RunSchedule>(*command);
    ASSERT_NO_FATAL_FAILURE(apply_transitions(is_run));
    ASSERT_EQ(show(output_.replies), show(model_.apply(input)));
    ASSERT_EQ(output_.restored.has_value(), model_.restored().has_value());
    if (output_.restored) {
      const auto shown = [](const Reply& reply) {
        std::string text;
        wire::append_reply(text, reply);
        return text;
      };
      ASSERT_EQ(shown(*output_.restored), shown(*model_.restored()));
    }
    ASSERT_NO_FATAL_FAILURE(compare());
    if (inputs_.chance(batch_inputs_)) commit();
  }

  // All replies so far, for comparing runs with each other.
  const std::string& replies() const { return replies_; }

 private:
  std::unique_ptr<engine::Engine> make_engine() const {
    engine::Limits limits;
    limits.id_block = 7;
    limits.calendar = calendar_;
    return std::make_unique<engine::Engine>(limits);
  }

  void apply_transitions(bool is_run = false) {
    for (const Transition& transition : output_.transitions) {
      engine::fold(folded_, transition);
      ASSERT_NO_FATAL_FAILURE(ledger_.read(transition, *calendar_, is_run));
      const auto* const moved = std::get_if<JobMoved>(&transition);
      const auto* const stored = std::get_if<ScheduleStored>(&transition);
      const bool is_new = moved != nullptr && !moved->before;
      const uint32_t bytes = is_new              ? moved->after->body_bytes
                             : stored != nullptr ? stored->schedule->put.body_bytes
                                                 : 0;
      batch_.add(transition, std::string_view(bytes_).substr(0, bytes));
    }
    replies_ += show(output_.replies);
  }

  void commit() {
    if (batch_.empty()) return;
    batch_.seal({.epoch = 1,
                 .index = store_.last_index() + 1,
                 .known_durable = store_.durable_index(),
                 .now = inputs_.now()});
    store_.write(batch_);
    store_.sync();
    batch_.clear();
    ASSERT_EQ(store_.image(), folded_);
  }

  void compare() {
    engine_->check();
    const engine::Image image = engine_->image();
    // Part by part, so that a failure says which one differs.
    ASSERT_EQ(image.jobs, folded_.jobs);
    ASSERT_EQ(image.tubes, folded_.tubes);
    ASSERT_EQ(image.pauses, folded_.pauses);
    ASSERT_EQ(image.keys, folded_.keys);
    ASSERT_EQ(image.settings, folded_.settings);
    ASSERT_EQ(image.ended, folded_.ended);
    ASSERT_EQ(image.schedules, folded_.schedules);
    ASSERT_EQ(image, folded_);
    ASSERT_NO_FATAL_FAILURE(validate(image));
    engine::Image model = model_.image();
    model.id_limit = image.id_limit;
    ASSERT_EQ(image.jobs, model.jobs);
    ASSERT_EQ(image.tubes, model.tubes);
    ASSERT_EQ(image.pauses, model.pauses);
    ASSERT_EQ(image.keys, model.keys);
    ASSERT_EQ(image.settings, model.settings);
    ASSERT_EQ(image.ended, model.ended);
    ASSERT_EQ(show(image.schedules), show(model.schedules));
    ASSERT_EQ(image.schedules, model.schedules);
    ASSERT_EQ(image, model);
    ASSERT_EQ(engine_->view().schedule_counts(), model_.schedule_counts());
    ASSERT_EQ(engine_->next_deadline(), model_.next_deadline());
  }

  // Each row must be one that the store accepts: it ends the process at any other.
  static void validate(const engine::Image& image) {
    for (const auto& [id, row] : image.jobs) ASSERT_EQ(store::problem(row), "");
    for (const auto& [name, stored] : image.schedules) {
      ASSERT_EQ(store::problem(*stored.schedule), "");
      ASSERT_EQ(store::problem(stored.progress), "");
    }
    for (const auto& [id, pause] : image.pauses) {
      ASSERT_EQ(store::problem(TubePaused{id, pause.first, pause.second}), "");
    }
    for (const auto& [name, key] : image.keys) ASSERT_EQ(store::problem(key), "");
    for (const auto& [name, settings] : image.settings) {
      ASSERT_EQ(store::problem(SettingsStored{name, settings}), "");
    }
  }

  // Restarts the engine from the store, after everything was committed.
  void reopen() {
    commit();
    calendar_ = std::make_shared<support::FakeCalendar>(inputs_.chance(2));
    engine_ = make_engine();
    const Nanos now = inputs_.now();
    const engine::Image image = store_.image();
    for (const auto& [id, name] : image.tubes) ASSERT_TRUE(engine_->restore_tube(id, name).ok());
    for (const auto& [id, pause] : image.pauses) {
      ASSERT_TRUE(engine_->restore_pause({id, pause.first, pause.second}, now).ok());
    }
    for (const auto& [id, row] : image.jobs) ASSERT_TRUE(engine_->restore_job(row, now).ok());
    for (const auto& [name, key] : image.keys) ASSERT_TRUE(engine_->restore_key(key, now).ok());
    for (const auto& [name, settings] : image.settings) {
      ASSERT_TRUE(engine_->restore_settings({name, settings}).ok());
    }
    for (const auto& [name, span] : image.ended) {
      ASSERT_TRUE(engine_->restore_ended(name, span).ok());
    }
    for (const auto& [name, stored] : image.schedules) {
      ASSERT_TRUE(engine_->restore_schedule(stored).ok());
    }
    output_.clear();
    ASSERT_TRUE(engine_->finish_restore(image.id_limit, now, output_).ok());
    do {
      engine_->apply({.now = now, .wall = inputs_.wall(), .event = engine::Tick{}}, output_);
    } while (engine_->next_deadline() && *engine_->next_deadline() <= now);
    ASSERT_NO_FATAL_FAILURE(apply_transitions());
    ASSERT_TRUE(output_.replies.empty());
    model_.reopen(image.id_limit, now, inputs_.wall(), calendar_);
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  InputGenerator inputs_;
  const uint32_t batch_inputs_;
  const std::string bytes_ = std::string(100, 'x');
  std::shared_ptr<const Calendar> calendar_ = std::make_shared<support::FakeCalendar>();
  std::unique_ptr<engine::Engine> engine_;
  ModelEngine model_ = ModelEngine(calendar_);
  ScheduleLedger ledger_;
  engine::Output output_;
  engine::Image folded_;
  store::Batch batch_;
  support::MemoryStore store_;
  std::string replies_;
};

TEST(Model, EngineAndModelHaveTheSameRepliesAndState) {
  constexpr uint64_t runs = 400;
  constexpr int steps = 500;
  size_t checked_times = 0;
  const uint64_t first = support::seed();
  for (uint64_t seed = first; seed != first + runs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DifferentialRun run(InputGenerator(seed, InputGenerator::Schedules::Yes), 20);
    for (int i = 0; i < steps; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      run.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    checked_times += run.checked_times();
  }
  EXPECT_GT(checked_times, runs) << "the load has too few schedules that make up for all";
}

// A clock may be wrong, and a client may ask for 136 years. All rows go through the validator that
// the server checks them with before it writes them.
TEST(Model, NoTimeIsOutOfRange) {
  constexpr uint64_t runs = 240;
  constexpr int steps = 250;
  constexpr Nanos longest = Nanos{duration_seconds_max} * nanos_per_second;
  // Not 0: as the time since when a job is ready it says that this is not known (JobRow::order), so
  // a job that was kicked in the first nanosecond of 1970 is ready anew after a restart.
  const std::array starts = {Nanos{1}, last_time - longest - 20 * nanos_per_second,
                             last_time - 40 * nanos_per_second, last_time};
  const uint64_t first = support::seed();
  for (uint64_t seed = first; seed != first + runs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Nanos start = starts[seed % starts.size()];
    DifferentialRun run(InputGenerator(seed, start, InputGenerator::Times::Longest), 5);
    for (int i = 0; i < steps; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      run.step();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// Replies depend neither on the boundaries of batches nor on the times of commits.
TEST(Model, RepliesDoNotDependOnBatches) {
  constexpr uint64_t runs = 30;
  constexpr int steps = 500;
  const uint64_t first = support::seed();
  for (uint64_t seed = first; seed != first + runs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    DifferentialRun small(InputGenerator(seed), 1);
    DifferentialRun large(InputGenerator(seed), 1000);
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      small.step();
      large.step();
      ASSERT_EQ(small.replies(), large.replies()) << "step " << i;
    }
  }
}

}  // namespace
}  // namespace perennial::model
