// T16: users with random grants send random commands. A command is judged by its effects, which are
// the transitions and the replies, and not by its name: whatever it has changed or told, a grant of
// its user allows. And a user who may do everything is never refused.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/access/users.h"
#include "engine/engine.h"
#include "tests/model/input_generator.h"
#include "tests/model/model_engine.h"
#include "tests/support/seed.h"

namespace perennial::model {
namespace {

using access::User;
using access::Verb;
using access::VerbSet;
using access::Verdict;

constexpr VerbSet all_verbs = {Verb::Produce, Verb::Consume, Verb::Inspect,
                               Verb::Manage,  Verb::Monitor, Verb::Admin};
const std::string anywhere = "any tube";

// Up to three grants, each of some verbs on some of the generator's tubes. One user in eight may do
// everything.
User some_user(InputGenerator& random) {
  static const std::vector<std::string> patterns = {"default", "a", "b", "c", "*", "d*", "*a*"};
  if (random.chance(8)) return {.name = "all", .grants = {{.tubes = {"*"}, .verbs = all_verbs}}};
  User user{.name = "some"};
  for (uint32_t count = random.below(4); count > 0; --count) {
    access::Grant grant;
    for (const std::string& pattern : patterns) {
      if (random.chance(4)) grant.tubes.push_back(pattern);
    }
    for (const access::VerbRow& row : access::verb_rows) {
      if (random.chance(3)) grant.verbs.add(row.verb);
    }
    user.grants.push_back(std::move(grant));
  }
  return user;
}

class GrantsRun {
 public:
  explicit GrantsRun(uint64_t seed) : inputs_(seed), engine_(engine::Limits()) {}

  void step() {
    engine::Input input = inputs_.next(model_);
    if (std::holds_alternative<engine::Opened>(input.event)) {
      users_.emplace(input.conn, some_user(inputs_));
    }
    if (auto* const command = std::get_if<Command>(&input.event)) {
      const User& user = users_.at(input.conn);
      const Verdict verdict = access::judge(user, input.conn, *command, engine_.view()).verdict;
      if (verdict != Verdict::Allowed) {
        ++refused_;
        ASSERT_NE(user.name, "all");
      }
      // A forbidden command never reaches the engine, and a hidden one names no job there.
      if (verdict == Verdict::Forbidden) return;
      if (verdict == Verdict::Hidden) access::hide(*command);
    }
    const engine::Image before = engine_.image();
    holds_.clear();
    for (const auto& [id, row] : before.jobs) holds_[id] = engine_.view().holds(input.conn, id);
    output_.clear();
    engine_.apply(input, output_);
    model_.apply(input);
    if (std::holds_alternative<Command>(input.event)) {
      for (const Transition& transition : output_.transitions) {
        ASSERT_NO_FATAL_FAILURE(expect_allowed(input, before, transition));
      }
    }
    for (const engine::ConnReply& reply : output_.replies) {
      ASSERT_NO_FATAL_FAILURE(expect_allowed(reply));
    }
  }

  uint64_t refused() const { return refused_; }
  uint64_t changed() const { return changed_; }
  uint64_t told() const { return told_; }

 private:
  void expect(ConnId conn, VerbSet verbs, const std::string& tube) {
    const User& user = users_.at(conn);
    const bool may = tube == anywhere ? user.may(Verb::Monitor) && verbs.holds(Verb::Monitor)
                                      : user.verbs_on(tube).holds_any(verbs);
    ASSERT_TRUE(may) << "connection " << conn << " on " << tube;
  }

  // ---- What a command has changed.
  void expect_allowed(const engine::Input& input, const engine::Image& before,
                      const Transition& transition) {
    if (const auto* const paused = std::get_if<TubePaused>(&transition)) {
      ++changed_;
      return expect(input.conn, {Verb::Manage}, name_of(before, paused->tube));
    }
    if (const auto* const stored = std::get_if<SettingsStored>(&transition)) {
      ++changed_;
      return expect(input.conn, {Verb::Manage}, stored->tube);
    }
    const auto* const moved = std::get_if<JobMoved>(&transition);
    if (moved == nullptr) return;
    ++changed_;
    if (!moved->before) {
      return expect(input.conn, {Verb::Produce}, name_of(before, moved->after->tube));
    }
    // Within one input a job may be put and then reserved by another.
    const auto found = before.jobs.find(moved->id);
    if (found == before.jobs.end()) return;
    const std::string from = name_of(before, found->second.tube);
    // Who gets it has asked for it: expect_allowed() of the reply.
    if (moved->after && moved->after->state == JobState::Reserved) return;
    if (holds_.at(moved->id)) return expect(input.conn, {Verb::Consume}, from);
    ASSERT_NO_FATAL_FAILURE(expect(input.conn, {Verb::Manage}, from));
    if (!moved->after || moved->after->tube == found->second.tube) return;
    expect(input.conn, {Verb::Produce, Verb::Manage}, name_of(before, moved->after->tube));
  }

  // ---- What a reply tells.
  void expect_allowed(const engine::ConnReply& reply) {
    const auto job = [&](JobId id, Verb verb) {
      const std::string* const tube = engine_.view().tube_of_job(id);
      ASSERT_NE(tube, nullptr);
      ++told_;
      expect(reply.conn, {verb}, *tube);
    };
    if (const auto* const one = std::get_if<JobReply>(&reply.reply)) {
      return job(one->id, one->word == Word::Reserved ? Verb::Consume : Verb::Inspect);
    }
    if (const auto* const jobs = std::get_if<std::unique_ptr<JobsReserved>>(&reply.reply)) {
      for (const JobReply& each : (*jobs)->jobs) {
        ASSERT_NO_FATAL_FAILURE(job(each.id, Verb::Consume));
      }
    } else if (const auto* const stats = std::get_if<std::unique_ptr<JobStats>>(&reply.reply)) {
      job((*stats)->id, Verb::Inspect);
    } else if (const auto* const list = std::get_if<std::unique_ptr<JobList>>(&reply.reply)) {
      for (const JobStats& each : (*list)->jobs) {
        ASSERT_NO_FATAL_FAILURE(job(each.id, Verb::Inspect));
      }
    } else if (const auto* const tube = std::get_if<std::unique_ptr<TubeStats>>(&reply.reply)) {
      ++told_;
      if (users_.at(reply.conn).may(Verb::Monitor)) return;
      expect(reply.conn, {Verb::Inspect}, (*tube)->name);
    } else if (std::holds_alternative<std::unique_ptr<EngineStats>>(reply.reply)) {
      ++told_;
      expect(reply.conn, {Verb::Monitor}, anywhere);
    }
  }

  // The number of a tube may be given out anew, so the names of this input come first.
  std::string name_of(const engine::Image& before, TubeId tube) const {
    const engine::Image now = engine_.image();
    if (const auto found = now.tubes.find(tube); found != now.tubes.end()) return found->second;
    return before.tubes.at(tube);
  }

  InputGenerator inputs_;
  engine::Engine engine_;
  ModelEngine model_;
  engine::Output output_;
  std::map<ConnId, User> users_;
  std::map<JobId, bool> holds_;  // Whether the connection of the input held the job before it.
  uint64_t refused_ = 0;
  uint64_t changed_ = 0;
  uint64_t told_ = 0;
};

TEST(Grants, T16_NoCommandDoesOrTellsWhatNoGrantAllows) {
  constexpr uint64_t runs = 200;
  constexpr int steps = 400;
  const uint64_t first = support::seed();
  uint64_t refused = 0, changed = 0, told = 0;
  for (uint64_t seed = first; seed != first + runs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    GrantsRun run(seed);
    for (int i = 0; i < steps; ++i) {
      SCOPED_TRACE("step " + std::to_string(i));
      run.step();
      if (testing::Test::HasFatalFailure()) return;
    }
    refused += run.refused();
    changed += run.changed();
    told += run.told();
  }
  // Both sides were met, whatever the seed.
  EXPECT_GT(refused, runs);
  EXPECT_GT(changed, runs);
  EXPECT_GT(told, runs);
}

}  // namespace
}  // namespace perennial::model
