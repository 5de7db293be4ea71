// Which answers count as errors, and why puts are refused.
#include "cmd/perenniald/core/answer_counts.h"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "cmd/perenniald/access/users.h"
#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

constexpr size_t mib = 1 << 20;

std::string put(size_t bytes, const std::string& options = "") {
  return "put 0 0 60 " + std::to_string(bytes) + options + "\r\n" + std::string(bytes, 'x') +
         "\r\n";
}

struct ErrorCase {
  std::string name;
  std::string lines;
  Word word;
  uint64_t count = 1;
};
class Errors : public testing::TestWithParam<ErrorCase> {};

TEST_P(Errors, AreCountedByTheirWord) {
  CoreHarness harness({.job_bytes_max = 10, .admin_on = access::AdminOn::None});
  const ConnId conn = harness.open();
  harness.send(conn, GetParam().lines);
  const AnswerCounts& counts = harness.core().answer_counts();
  for (const Word word : error_words) {
    EXPECT_EQ(counts.errors(word), word == GetParam().word ? GetParam().count : 0u)
        << row_of(word).text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    AnswerCounts, Errors,
    testing::Values(ErrorCase{"NoSuchJob", "delete 7\r\npeek 7\r\n", Word::NotFound, 2},
                    ErrorCase{"LastTube", "ignore default\r\n", Word::NotIgnored},
                    ErrorCase{"NoNumber", "delete x\r\nput 1\r\n", Word::BadFormat, 2},
                    ErrorCase{"NoCommand", "hello\r\n", Word::UnknownCommand},
                    ErrorCase{"NotForClients", "drain\r\n", Word::Denied},
                    ErrorCase{"LargeBody", put(11), Word::JobTooBig},
                    ErrorCase{"NoCrlf", "put 0 0 60 1\r\nabc", Word::ExpectedCrlf},
                    ErrorCase{"NoJobInTime", "reserve-with-timeout 0\r\n", Word::NotFound, 0},
                    ErrorCase{"NothingWrong", put(1) + "reserve\r\nbury 1 0\r\nkick 1\r\n",
                              Word::NotFound, 0}),
    [](const auto& param) { return param.param.name; });

TEST(AnswerCounts, TellTheRefusalOfAPutFromADrain) {
  CoreHarness harness;
  const ConnId conn = harness.open();
  harness.send(conn, "drain\r\n");
  EXPECT_EQ(harness.core().answer_counts().errors(Word::Draining), 0u);
  harness.send(conn, put(1));
  EXPECT_EQ(harness.core().answer_counts().errors(Word::Draining), 1u);
}

TEST(AnswerCounts, KnowDamagedBodies) {
  CoreHarness harness({.body_cache_bytes = 0});
  const ConnId conn = harness.open();
  harness.send(conn, put(1) + put(1));
  harness.damage(1);
  harness.send(conn, "peek 1\r\n");
  EXPECT_EQ(harness.core().answer_counts().errors(Word::InternalError), 1u);
}

TEST(AnswerCounts, TellBodiesInTheCacheFromOthers) {
  CoreHarness harness({.body_cache_bytes = 1'000});
  const ConnId conn = harness.open();
  harness.send(conn, put(900));
  harness.send(conn, put(900));  // In place of the first.
  EXPECT_GE(harness.core().body_cache_bytes(), 900u);
  harness.send(conn, "peek 2\r\npeek 2\r\npeek 1\r\n");
  EXPECT_EQ(harness.core().answer_counts().bodies_found, 2u);
  EXPECT_EQ(harness.core().answer_counts().bodies_missed, 1u);
}

// ---- Puts. The counts of the engine are by PutRefusal.
struct RefusalCase {
  std::string name;
  std::function<void(CoreHarness&)> before;
  std::string lines;
  std::function<uint64_t(Core&)> count;
};
class Refusals : public testing::TestWithParam<RefusalCase> {};

// By PutRefusal.
PutRefusals refused_of(Core& core) {
  return core.engine().view().puts_refused();
}

uint64_t sum_of(Core& core) {
  const AnswerCounts::PutsRefused& counts = core.answer_counts().puts_refused;
  uint64_t sum = counts.disk + counts.memory + counts.forbidden + counts.unauthorized;
  for (const uint64_t count : refused_of(core)) sum += count;
  // What lacks space is counted by the engine, too.
  return sum - refused_of(core)[static_cast<size_t>(PutRefusal::Space)];
}

TEST_P(Refusals, AreCountedByTheirReason) {
  CoreHarness harness({.engine = {.jobs_max = 3, .tubes_max = 2, .keys_max = 1},
                       .job_bytes_max = 20 * mib,
                       .memory_bytes_max = 30 * mib});
  const ConnId conn = harness.open();
  if (GetParam().before) GetParam().before(harness);
  harness.send(conn, GetParam().lines);
  EXPECT_EQ(GetParam().count(harness.core()), 1u) << harness.receive(conn);
  EXPECT_EQ(sum_of(harness.core()), 1u);
}

auto of_engine(PutRefusal why) {
  return [why](Core& core) { return refused_of(core)[static_cast<size_t>(why)]; };
}
uint64_t of_disk(Core& core) {
  return core.answer_counts().puts_refused.disk;
}
uint64_t of_memory(Core& core) {
  return core.answer_counts().puts_refused.memory;
}
void fill_disk(CoreHarness& harness) {
  harness.set_accepts_puts(false);
}
void leave_little_space(CoreHarness& harness) {
  harness.core().on_disk_left({.bytes = 12 * mib});
}

INSTANTIATE_TEST_SUITE_P(
    AnswerCounts, Refusals,
    testing::Values(
        RefusalCase{"Draining", {}, "drain\r\n" + put(1), of_engine(PutRefusal::Draining)},
        RefusalCase{"Jobs", {}, put(1) + put(1) + put(1) + put(1), of_engine(PutRefusal::Jobs)},
        RefusalCase{"JobsOfABatch",
                    {},
                    put(1) + put(1) + "put-batch 2 24\r\n0 0 60 1\r\na\r\n0 0 60 1\r\nb\r\n",
                    of_engine(PutRefusal::Jobs)},
        RefusalCase{"Keys", {}, put(1, " idp:a") + put(1, " idp:b"), of_engine(PutRefusal::Keys)},
        RefusalCase{
            "Tubes", {}, put(1, " tube:a") + put(1, " tube:b"), of_engine(PutRefusal::Tubes)},
        RefusalCase{"Size", {}, put(20 * mib + 1), of_engine(PutRefusal::Size)},
        RefusalCase{"Crlf", {}, "put 0 0 60 1\r\nabc", of_engine(PutRefusal::Crlf)},
        RefusalCase{"DiskIsFull", fill_disk, put(1), of_disk},
        RefusalCase{"DiskIsTooSmallForTheBody", leave_little_space, put(5 * mib), of_disk},
        RefusalCase{"Memory", {}, put(15 * mib) + put(16 * mib), of_memory},
        // The producer gets the answer that it has lost, also where no put is accepted.
        RefusalCase{"NotADuplicate",
                    {},
                    put(1, " idp:a") + "drain\r\n" + put(1, " idp:a") + put(1),
                    of_engine(PutRefusal::Draining)}),
    [](const auto& param) { return param.param.name; });

TEST(AnswerCounts, TellWhoMayNotPut) {
  CoreHarness harness;
  harness.core().set_users(std::make_shared<const access::Users>(std::vector<access::User>{
      {.name = "mailer", .uids = {7}, .grants = {{{"mail"}, {access::Verb::Produce}}}}}));
  const ConnId nobody = harness.open_as({});
  harness.send(nobody, put(1));
  const ConnId mailer = harness.open_as({.identity = access::PeerProcess{.uid = 7}});
  harness.send(mailer, put(1) + put(1) + "use other\r\n" + put(1, " tube:mail"));
  const AnswerCounts::PutsRefused& counts = harness.core().answer_counts().puts_refused;
  EXPECT_EQ(counts.unauthorized, 1u);
  EXPECT_EQ(counts.forbidden, 2u);
  EXPECT_EQ(sum_of(harness.core()), 3u);
}

}  // namespace
}  // namespace perennial::core
