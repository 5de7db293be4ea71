#include "cmd/perenniald/access/rules.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "tests/support/documents.h"
#include "tests/support/fake_calendar.h"

namespace perennial::access {
namespace {

// Connection 1 uses and watches the tube "t", holds job 1 of it, and could take job 2. The schedule
// "s" puts jobs into it.
class World {
 public:
  World() {
    apply(engine::Opened{});
    apply(Use{"t"});
    apply(Watch{"t"});
    apply(Ignore{"default"});
    apply(Put{.priority = 0, .delay_s = 0, .ttr_s = 60, .body_bytes = 0});
    apply(ReserveJob{1});
    apply(Put{.priority = 0, .delay_s = 0, .ttr_s = 60, .body_bytes = 0});
    apply(schedule("s", "t"));
  }
  static SetSchedule schedule(std::string name, std::string tube, std::string dead = {}) {
    SetSchedule set = set_schedule({.name = std::move(name),
                                    .tube = std::move(tube),
                                    .when = ScheduleEvery{nanos_per_second}});
    set.options->dead = std::move(dead);
    return set;
  }
  engine::EngineView engine() const { return engine_.view(); }

 private:
  void apply(engine::Event event) {
    engine::Output out;
    engine_.apply({.now = 1, .conn = 1, .accepts_puts = true, .event = std::move(event)}, out);
  }
  engine::Engine engine_{
      engine::Limits{.calendar = std::make_shared<const support::FakeCalendar>()}};
};

// The command about the tube "t", or about job 2 or the schedule of it.
template <typename C>
C about_t() {
  if constexpr (std::is_same_v<C, SetSchedule>) return World::schedule("s", "t");
  C command{};
  if constexpr (requires { command.name.size(); }) command.name = "s";
  if constexpr (requires { command.tube.size(); }) command.tube = "t";
  if constexpr (requires { command.from.size(); }) command.from = command.to = "t";
  if constexpr (requires { JobId{command.id}; }) command.id = 2;
  if constexpr (requires { command.ids.size(); }) command.ids = {1, 2};
  if constexpr (requires { command.items.size(); }) command.items.emplace_back();
  return command;
}

// A: allowed. F: FORBIDDEN. N: NOT_FOUND. Of a batch also how many ids are hidden.
std::string verdict_of(const User& user, Command command, const World& world) {
  std::string text;
  switch (judge(user, 1, command, world.engine()).verdict) {
    case Verdict::Allowed:
      text = "A";
      break;
    case Verdict::Forbidden:
      text = "F";
      break;
    case Verdict::Hidden:
      text = "N";
      break;
  }
  if (const auto* const batch = std::get_if<DeleteBatch>(&command)) {
    text += fmt::format("{}", batch->hidden.size());
  }
  return text;
}

// T16. A line for each command: the verdict for a user without any verb, and with one verb alone,
// in the order of verb_rows. First where the verb is granted on the tube, then on another one.
std::string matrix() {
  const World world;
  std::string out;
  for_each_command([&]<typename Row>(const Row& row) {
    const Command command = about_t<typename Row::Type>();
    out += fmt::format("{:<21}", row.word());
    for (const char* const tube : {"t", "other"}) {
      User user = {.name = "u"};
      out += fmt::format(" {:<2}", verdict_of(user, command, world));
      for (const VerbRow& verb : verb_rows) {
        user.grants = {{{tube}, {verb.verb}}};
        out += fmt::format(" {:<2}", verdict_of(user, command, world));
      }
      if (tube == std::string_view("t")) out += " |";
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  });
  return out;
}

constexpr std::string_view golden = R"(
put                   F  A  F  F  F  F  F  | F  F  F  F  F  F  F
peek                  F  F  F  A  F  F  F  | F  F  F  N  F  F  F
peek-ready            F  F  F  A  F  F  F  | F  F  F  F  F  F  F
peek-delayed          F  F  F  A  F  F  F  | F  F  F  F  F  F  F
peek-buried           F  F  F  A  F  F  F  | F  F  F  F  F  F  F
reserve               A  A  A  A  A  A  A  | A  A  A  A  A  A  A
reserve-with-timeout  A  A  A  A  A  A  A  | A  A  A  A  A  A  A
reserve-job           F  F  A  F  F  F  F  | F  F  N  F  F  F  F
delete                N  N  N  N  A  N  N  | N  N  N  N  N  N  N
release               N  N  A  N  N  N  N  | N  N  N  N  N  N  N
use                   F  A  F  A  A  F  F  | F  F  F  F  F  F  F
watch                 F  F  A  F  F  F  F  | F  F  F  F  F  F  F
ignore                A  A  A  A  A  A  A  | A  A  A  A  A  A  A
bury                  N  N  A  N  N  N  N  | N  N  N  N  N  N  N
kick                  F  F  F  F  A  F  F  | F  F  F  F  F  F  F
kick-job              F  F  F  F  A  F  F  | F  F  F  F  N  F  F
touch                 N  N  A  N  N  N  N  | N  N  N  N  N  N  N
stats                 F  F  F  F  F  A  F  | F  F  F  F  F  A  F
stats-job             F  F  F  A  F  F  F  | F  F  F  N  F  F  F
stats-tube            F  F  F  A  F  A  F  | F  F  F  F  F  A  F
list-tubes            A  A  A  A  A  A  A  | A  A  A  A  A  A  A
list-tube-used        A  A  A  A  A  A  A  | A  A  A  A  A  A  A
list-tubes-watched    A  A  A  A  A  A  A  | A  A  A  A  A  A  A
pause-tube            F  F  F  F  A  F  F  | F  F  F  F  F  F  F
quit                  A  A  A  A  A  A  A  | A  A  A  A  A  A  A
checkpoint            F  F  F  F  F  F  A  | F  F  F  F  F  F  A
extensions            A  A  A  A  A  A  A  | A  A  A  A  A  A  A
auth                  A  A  A  A  A  A  A  | A  A  A  A  A  A  A
put-batch             F  A  F  F  F  F  F  | F  F  F  F  F  F  F
reserve-batch         A  A  A  A  A  A  A  | A  A  A  A  A  A  A
delete-batch          A2 A2 A1 A2 A1 A2 A2 | A2 A2 A2 A2 A2 A2 A2
touch-batch           A  A  A  A  A  A  A  | A  A  A  A  A  A  A
flush-tube            F  F  F  F  A  F  F  | F  F  F  F  F  F  F
list-jobs             F  F  F  A  F  F  F  | F  F  F  F  F  F  F
peek-reserved         F  F  F  A  F  F  F  | F  F  F  F  F  F  F
set-job               F  F  F  F  A  F  F  | F  F  F  F  F  F  F
set-tube              F  F  F  F  A  F  F  | F  F  F  F  F  F  F
move-tube             F  F  F  F  A  F  F  | F  F  F  F  F  F  F
reserve-mode          A  A  A  A  A  A  A  | A  A  A  A  A  A  A
kick-tube             F  F  F  F  A  F  F  | F  F  F  F  F  F  F
drain                 F  F  F  F  F  F  A  | F  F  F  F  F  F  A
undrain               F  F  F  F  F  F  A  | F  F  F  F  F  F  A
list-clients          F  F  F  F  F  F  A  | F  F  F  F  F  F  A
note                  N  N  N  N  A  N  N  | N  N  N  N  N  N  N
list-notes            F  F  F  A  F  F  F  | F  F  F  N  F  F  F
peek-ended            F  F  F  A  F  F  F  | F  F  F  A  F  F  F
restore-job           F  F  F  F  A  F  F  | F  F  F  F  A  F  F
restore-tube          F  F  F  F  A  F  F  | F  F  F  F  F  F  F
set-schedule          F  F  F  F  A  F  F  | F  F  F  F  F  F  F
delete-schedule       F  F  F  F  A  F  F  | F  F  F  F  N  F  F
pause-schedule        F  F  F  F  A  F  F  | F  F  F  F  N  F  F
run-schedule          F  F  F  F  A  F  F  | F  F  F  F  N  F  F
list-schedules        A  A  A  A  A  A  A  | A  A  A  A  A  A  A
stats-schedule        F  F  F  A  F  F  F  | F  F  F  N  F  F  F
peek-schedule         F  F  F  A  F  F  F  | F  F  F  N  F  F  F
)";

TEST(Access, OfEveryCommandVerbAndTubeIsAsWritten) {
  EXPECT_EQ("\n" + matrix(), golden);
}

// The verbs of a rule, which the documents show, are those that change a verdict.
TEST(Access, NeedsNoVerbThatTheRuleDoesNotName) {
  const World world;
  std::map<std::string_view, CommandRule> rules;
  for (const CommandRule& rule : command_rules()) rules.emplace(rule.word, rule);
  for_each_command([&]<typename Row>(const Row& row) {
    ASSERT_TRUE(rules.contains(row.word())) << row.word();
    const VerbSet verbs = rules.at(row.word()).verbs;
    const Command command = about_t<typename Row::Type>();
    const std::string without = verdict_of({.name = "u"}, command, world);
    EXPECT_TRUE(!verbs.empty() || without.starts_with('A')) << row.word();
    for (const VerbRow& verb : verb_rows) {
      if (verbs.holds(verb.verb)) continue;
      const User user = {.name = "u", .grants = {{{"t"}, {verb.verb}}}};
      EXPECT_EQ(verdict_of(user, command, world), without) << row.word() << " " << verb.name;
    }
  });
}

TEST(Access, AuditNamesWhatOnlyManageAndAdminAllow) {
  EXPECT_TRUE(is_of_operator(Kick{}));
  EXPECT_TRUE(is_of_operator(SetJob{}));
  EXPECT_TRUE(is_of_operator(Checkpoint{}));
  EXPECT_FALSE(is_of_operator(Delete{}));
  EXPECT_FALSE(is_of_operator(Use{}));
  EXPECT_FALSE(is_of_operator(Stats{}));
  EXPECT_FALSE(is_of_operator(Quit{}));
  EXPECT_FALSE(is_of_operator(PutNoCrlf{}));
}

TEST(Access, OfTheDocumentIsThatOfTheRules) {
  std::vector<std::string> lines;
  std::string words;
  const std::vector<CommandRule> rules = command_rules();
  for (size_t i = 0; i < rules.size(); ++i) {
    const CommandRule& rule = rules[i];
    words += (words.empty() ? "" : ", ") + support::code(rule.word);
    const bool is_last = i + 1 == rules.size() || rules[i + 1].verbs != rule.verbs ||
                         rules[i + 1].where != rule.where;
    if (!is_last) continue;
    std::vector<std::string_view> verbs;
    for (const VerbRow& verb : verb_rows) {
      if (rule.verbs.holds(verb.verb)) verbs.push_back(verb.name);
    }
    lines.push_back(fmt::format("| {} | {} | {} |", words,
                                verbs.empty() ? "nothing" : support::one_of(verbs), rule.where));
    words.clear();
  }
  EXPECT_EQ(fmt::format("{}", fmt::join(support::documented_rows(
                                            "security.md", "#### What each command needs", lines),
                                        "\n")),
            fmt::format("{}", fmt::join(lines, "\n")));
}

std::string judged(const User& user, Command command) {
  static const World world;
  return verdict_of(user, std::move(command), world);
}

struct MissingCase {
  std::string name;
  Command command;
  Verb verb;
};
class Missing : public testing::TestWithParam<MissingCase> {};

// Connection 1 holds job 1, and not job 2.
TEST_P(Missing, VerbIsTold) {
  const World world;
  Command command = GetParam().command;
  const Judgement judgement = judge({.name = "u"}, 1, command, world.engine());
  EXPECT_NE(judgement.verdict, Verdict::Allowed);
  EXPECT_EQ(judgement.missing, GetParam().verb);
}

INSTANTIATE_TEST_SUITE_P(
    Access, Missing,
    testing::Values(MissingCase{"Put", Put{}, Verb::Produce},
                    MissingCase{"Use", Use{"t"}, Verb::Produce},
                    MissingCase{"Watch", Watch{"t"}, Verb::Consume},
                    MissingCase{"DeleteOfAHeldJob", Delete{1}, Verb::Consume},
                    MissingCase{"DeleteOfAnotherJob", Delete{2}, Verb::Manage},
                    MissingCase{"Release", Release{2, 0, 0}, Verb::Consume},
                    MissingCase{"Peek", Peek{2}, Verb::Inspect},
                    MissingCase{"PeekReady", PeekReady{}, Verb::Inspect},
                    MissingCase{"ListAllJobs", ListJobs{}, Verb::Inspect},
                    MissingCase{"KickJob", KickJob{2}, Verb::Manage},
                    MissingCase{"MoveTube", MoveTube{.from = "t", .to = "u"}, Verb::Manage},
                    MissingCase{"KickTube", KickTube{.tube = "t"}, Verb::Manage},
                    MissingCase{"Stats", Stats{}, Verb::Monitor},
                    MissingCase{"Drain", Drain{}, Verb::Admin}),
    [](const auto& param) { return param.param.name; });

TEST(Access, OptionsThatNameATubeNeedARightThere) {
  const User user = {.name = "u",
                     .grants = {{{"t"}, {Verb::Produce, Verb::Manage}}, {{"u"}, {Verb::Consume}}}};
  Put put = {.priority = 0, .delay_s = 0, .ttr_s = 1, .body_bytes = 0};
  EXPECT_EQ(judged(user, put), "A");
  put.options.make().dead = "u";
  EXPECT_EQ(judged(user, put), "F");
  put.options->dead = "t";
  EXPECT_EQ(judged(user, put), "A");
  put.options->tube = "u";
  EXPECT_EQ(judged(user, put), "F");
  PutBatch batch = {.count = {2}, .tube = "t", .items = {Put{}, Put{}}};
  EXPECT_EQ(judged(user, batch), "A");
  batch.items[1].options.make().tube = "u";
  EXPECT_EQ(judged(user, batch), "F");
  batch.items[1].options->tube.clear();
  batch.items[1].options->dead = "u";
  EXPECT_EQ(judged(user, batch), "F");
  EXPECT_EQ(judged(user, SetJob{.id = 2, .tube = "u"}), "F");
  EXPECT_EQ(judged(user, SetJob{.id = 2, .dead = {.given = true, .value = "u"}}), "F");
  EXPECT_EQ(judged(user, SetJob{.id = 2, .dead = {.given = true, .value = {}}}), "A");
  EXPECT_EQ(judged(user, SetTube{.tube = "t", .dead = {.given = true, .value = "u"}}), "F");
  EXPECT_EQ(judged(user, MoveTube{.from = "t", .to = "u"}), "F");
}

TEST(Access, ToAllTubesNeedsAGrantOnAll) {
  ListJobs list;
  EXPECT_EQ(judged({.name = "u", .grants = {{{"t*"}, {Verb::Inspect}}}}, list), "F");
  EXPECT_EQ(judged({.name = "u", .grants = {{{"*"}, {Verb::Manage}}}}, list), "F");
  EXPECT_EQ(judged({.name = "u", .grants = {{{"*"}, {Verb::Inspect}}}}, list), "A");
}

// T17: an id that is not there and one in a tube of others are the same to judge by their answers.
TEST(Access, JobsOfOthersAreAsIfTheyDidNotExist) {
  const User outsider = {.name = "u", .grants = {{{"x"}, {Verb::Consume, Verb::Inspect}}}};
  EXPECT_EQ(judged(outsider, Peek{2}), "N");
  EXPECT_EQ(judged(outsider, StatsJob{2}), "N");
  EXPECT_EQ(judged(outsider, SetJob{.id = 2, .tube = "t"}), "F");
  EXPECT_EQ(judged(outsider, SetJob{.id = 99, .tube = "t"}), "F");
  // Of a verb that it has nowhere the answer is the same for all ids.
  EXPECT_EQ(judged(outsider, KickJob{2}), "F");
  EXPECT_EQ(judged(outsider, KickJob{99}), "F");
  EXPECT_EQ(judged(outsider, ReserveJob{2}), "N");
  EXPECT_EQ(judged(outsider, Delete{2}), "N");
  EXPECT_EQ(judged(outsider, Peek{99}), "A");  // The engine answers NOT_FOUND.
  // A worker finishes what it holds. Of what it does not hold it sees nothing.
  const User worker = {.name = "w", .grants = {{{"t"}, {Verb::Consume}}}};
  EXPECT_EQ(judged(worker, Delete{1}), "A");
  EXPECT_EQ(judged(worker, Release{.id = 1, .priority = 0, .delay_s = 0}), "A");
  EXPECT_EQ(judged(worker, Delete{2}), "N");
  // One that is not there is missing anyhow.
  EXPECT_EQ(judged(worker, DeleteBatch{{1, 2, 99}}), "A1");
}

TEST(Access, SchedulesOfOthersAreAsIfTheyDidNotExist) {
  const User outsider = {
      .name = "u", .grants = {{{"x"}, {Verb::Inspect, Verb::Manage}}, {{"d"}, {Verb::Produce}}}};
  EXPECT_EQ(judged(outsider, DeleteSchedule{"s"}), "N");
  EXPECT_EQ(judged(outsider, PeekSchedule{"s"}), "N");
  EXPECT_EQ(judged(outsider, DeleteSchedule{"none"}), "A");  // The engine answers NOT_FOUND.
  Command hidden = PauseSchedule{"s"};
  hide(hidden);
  EXPECT_EQ(std::get<PauseSchedule>(hidden).name, "");
  // A name that is somebody else's is not to be had.
  EXPECT_EQ(judged(outsider, World::schedule("s", "x")), "F");
  EXPECT_EQ(judged(outsider, World::schedule("mine", "x")), "A");
  EXPECT_EQ(judged(outsider, World::schedule("mine", "t")), "F");
  EXPECT_EQ(judged(outsider, World::schedule("mine", "x", "d")), "A");
  EXPECT_EQ(judged(outsider, World::schedule("mine", "x", "t")), "F");
  EXPECT_TRUE(may_see_schedules(outsider, "x"));
  EXPECT_FALSE(may_see_schedules(outsider, "t"));
  EXPECT_FALSE(may_see_schedules(outsider, "d"));
}

TEST(Access, ADefaultTubeThatIsWatchedCountsForReservations) {
  engine::Engine engine{engine::Limits()};
  engine::Output out;
  engine.apply({.now = 1, .conn = 1, .accepts_puts = true, .event = engine::Opened{}}, out);
  const User user = {.name = "u", .grants = {{{"t"}, {Verb::Consume}}}};
  Command reserve = Reserve{};
  EXPECT_EQ(judge(user, 1, reserve, engine.view()).verdict, Verdict::Forbidden);
  engine.apply({.now = 1, .conn = 1, .accepts_puts = true, .event = Watch{"t"}}, out);
  engine.apply({.now = 1, .conn = 1, .accepts_puts = true, .event = Ignore{"default"}}, out);
  EXPECT_EQ(judge(user, 1, reserve, engine.view()).verdict, Verdict::Allowed);
}

}  // namespace
}  // namespace perennial::access
