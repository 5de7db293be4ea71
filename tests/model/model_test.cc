// The engine against the naive one under random inputs. After each step: the same replies, the same
// next deadline, check() passes, and folding all transitions from empty gives the engine's own
// state. What the batches hold, cut at random, gives the same again, and a reopen from it goes on
// alike.

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "store/batch/batch.h"
#include "tests/model/inputs.h"
#include "tests/model/naive.h"
#include "tests/support/memory_store.h"
#include "tests/support/seed.h"
#include "wire/format.h"

namespace perennial::model {
namespace {

std::string show(const std::vector<engine::ConnReply>& replies) {
  std::string text;
  for (const engine::ConnReply& reply : replies) {
    text += std::to_string(reply.conn) + ": ";
    if (const auto* job = std::get_if<JobReply>(&reply.reply)) {
      wire::append_job_head(text, *job);
    } else if (const auto* stats = std::get_if<std::unique_ptr<EngineStats>>(&reply.reply)) {
      wire::append_stats(text, **stats, {}, {});
    } else {
      wire::append_reply(text, reply.reply);
    }
  }
  return text;
}

// One trace: the same inputs to both engines, the transitions to the store.
class Trace {
 public:
  Trace(uint64_t seed, uint32_t batch_inputs)
      : inputs_(seed), batch_inputs_(batch_inputs), engine_(make_engine()) {}

  void step() {
    if (inputs_.chance(100)) return reopen();
    const engine::Input input = inputs_.next(naive_);
    output_.clear();
    engine_->apply(input, output_);
    absorb();
    ASSERT_EQ(show(output_.replies), show(naive_.apply(input)));
    ASSERT_NO_FATAL_FAILURE(compare());
    if (inputs_.chance(batch_inputs_)) commit();
  }

  // All replies of the trace, for comparing traces with each other.
  const std::string& replies() const { return replies_; }

 private:
  static std::unique_ptr<engine::Engine> make_engine() {
    engine::Limits limits;
    limits.id_block = 7;
    return std::make_unique<engine::Engine>(limits);
  }

  void absorb() {
    for (const Transition& transition : output_.transitions) {
      engine::fold(folded_, transition);
      const auto* const moved = std::get_if<JobMoved>(&transition);
      const bool is_new = moved != nullptr && !moved->before;
      batch_.add(transition, is_new ? std::string_view(bytes_).substr(0, moved->after->body_bytes)
                                    : std::string_view());
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
    ASSERT_EQ(image, folded_);
    engine::Image naive = naive_.image();
    naive.id_limit = image.id_limit;
    ASSERT_EQ(image, naive);
    ASSERT_EQ(engine_->next_deadline(), naive_.next_deadline());
  }

  // A restart, with everything that was promised.
  void reopen() {
    commit();
    engine_ = make_engine();
    const Nanos now = inputs_.now();
    const engine::Image image = store_.image();
    for (const auto& [id, name] : image.tubes) ASSERT_TRUE(engine_->restore_tube(id, name).ok());
    for (const auto& [id, pause] : image.pauses) {
      ASSERT_TRUE(engine_->restore_pause({id, pause.first, pause.second}, now).ok());
    }
    for (const auto& [id, row] : image.jobs) ASSERT_TRUE(engine_->restore_job(row, now).ok());
    output_.clear();
    ASSERT_TRUE(engine_->finish_restore(image.id_limit, output_).ok());
    do {
      engine_->apply({.now = now, .event = engine::Tick{}}, output_);
    } while (engine_->next_deadline() && *engine_->next_deadline() <= now);
    absorb();
    ASSERT_TRUE(output_.replies.empty());
    naive_.reopen(image.id_limit, now);
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  Inputs inputs_;
  const uint32_t batch_inputs_;
  const std::string bytes_ = std::string(100, 'x');
  std::unique_ptr<engine::Engine> engine_;
  Naive naive_;
  engine::Output output_;
  engine::Image folded_;
  store::Batch batch_;
  support::MemoryStore store_;
  std::string replies_;
};

TEST(Model, SameRepliesAndSameState) {
  constexpr uint64_t traces = 400;
  constexpr int steps = 500;
  const uint64_t first = support::seed();
  for (uint64_t seed = first; seed != first + traces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace trace(seed, 20);
    for (int i = 0; i < steps; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      trace.step();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

// What goes into which batch shows in no reply, and neither does when it was committed.
TEST(Model, RepliesDoNotDependOnBatches) {
  constexpr uint64_t traces = 30;
  constexpr int steps = 500;
  const uint64_t first = support::seed();
  for (uint64_t seed = first; seed != first + traces; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trace small(seed, 1);
    Trace large(seed, 1000);
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      small.step();
      large.step();
      ASSERT_EQ(small.replies(), large.replies()) << "step " << i;
    }
  }
}

}  // namespace
}  // namespace perennial::model
