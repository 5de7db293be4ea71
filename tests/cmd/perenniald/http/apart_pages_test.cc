// Pages of lists, which a worker writes once their rows are taken from the engine: what changes in
// the meantime is not on them. It is blind to memory that both would use: TSan sees that in the
// tests of the server.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perenniald/http/fake_workers.h"
#include "tests/cmd/perenniald/http/port.h"

namespace perennial::http {
namespace {

using testing::HasSubstr;

struct PageCase {
  std::string name;
  std::string path;
  std::string has;
  std::string fields = {};
};
class ApartPagesTest : public Port, public testing::WithParamInterface<PageCase> {
 protected:
  // Tubes, and more jobs of each kind than a page that is written at once: with notes, held by a
  // client of the queue, and with leases.
  void fill() {
    for (int i = 0; i < 120; ++i) speak(fmt::format("use t{:03}\r\nput 1 0 10 1\r\na\r\n", i));
    std::string lines = "use mail\r\n";
    for (int i = 0; i < 120; ++i) lines += fmt::format("put {} 0 100 1\r\nb\r\n", i);
    lines += "watch mail\r\n";
    constexpr int first = 121;
    for (int id = first; id < first + 30; ++id) {
      lines += fmt::format("reserve\r\nnote {0} 4\r\noops\r\nbury {0} 1\r\n", id);
    }
    for (int i = 0; i < 15; ++i) lines += "reserve\r\n";
    const ConnId worker = harness_.open();
    harness_.send(worker, lines);
    change("POST", "/api/v1/tubes/mail/reservations?count=15");
  }
};

TEST_P(ApartPagesTest, AreWrittenFromWhatWasTaken) {
  fill();
  const std::string bytes = get(GetParam().path, "Host: localhost\r\n" + GetParam().fields);
  const std::unique_ptr<Answer> here = open(bytes);
  ASSERT_TRUE(run(*here));
  const std::string whole = here->take().body;
  EXPECT_THAT(whole, HasSubstr(GetParam().has));

  FakeWorkers workers;
  workers_ = &workers;
  const std::unique_ptr<Answer> answer = open(bytes);
  Answer::Step step = answer->step();
  for (; step != Answer::Step::Elsewhere; step = answer->step()) {
    ASSERT_NE(step, Answer::Step::Whole);
    harness_.pump();
  }
  workers_ = nullptr;
  speak("flush-tube mail\r\nuse t001\r\nput 1 0 10 1\r\nc\r\nflush-tube t002\r\n");
  workers.work();
  workers.end();
  ASSERT_EQ(answer->step(), Answer::Step::Whole);
  EXPECT_EQ(answer->take().body, whole);
  const std::unique_ptr<Answer> later = open(bytes);
  ASSERT_TRUE(run(*later));
  EXPECT_NE(later->take().body, whole);
}

INSTANTIATE_TEST_SUITE_P(
    All, ApartPagesTest,
    testing::Values(
        PageCase{"Jobs", "/api/v1/tubes/mail/jobs?limit=1000", "\"held_by\":{"},
        PageCase{"JobsWithNotes", "/api/v1/tubes/mail/jobs?with=note&state=buried",
                 R"("line":"oops")"},
        PageCase{"JobsWithLeases", "/api/v1/tubes/mail/jobs?state=reserved", "\"leased_by\":{"},
        PageCase{"JobsInGzip", "/api/v1/tubes/mail/jobs?limit=100", "\x1f\x8b",
                 "Accept-Encoding: gzip\r\n"},
        PageCase{"Tubes", "/api/v1/tubes?limit=1000&sort=puts&order=desc", R"("name":"t119")"},
        PageCase{"Metrics", "/metrics", "perennial_jobs_put_total"},
        PageCase{"MetricsOfTubes", "/metrics/tubes", "{tube=\"mail\"}"},
        PageCase{"MetricsOfTheOldExporter", "/metrics?names=beanstalkd",
                 "tube_cmd_delete{tube=\"mail\"}"}),
    [](const auto& page) { return page.param.name; });

}  // namespace
}  // namespace perennial::http
