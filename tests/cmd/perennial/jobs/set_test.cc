// perennial set job and perennial set tube, on a perenniald.

#include <string>

#include <fmt/format.h>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::ToolRun;
using testing::HasSubstr;

class Set : public ToolAndServer {};

TEST_F(Set, ChangesWhatIsGivenOfAJob) {
  const std::string id = put("x", {"--pri", "7"});
  EXPECT_EQ(run({"set", "job", id, "--pri", "0", "--tube", "mail", "--delay", "100s", "--ttr",
                 "1500ms", "--expire", "1000", "--tries", "3", "--backoff", "5", "--dead", "d"})
                .out,
            "changed " + id + "\n");
  const auto stats = job(id);
  EXPECT_EQ(stats["pri"], 0);
  EXPECT_EQ(stats["tube"], "mail");
  EXPECT_EQ(stats["state"], "delayed");
  EXPECT_EQ(stats["ttr-ms"], 1500);
  EXPECT_GT(stats["expire-left"], 900);
  EXPECT_EQ(stats["tries"], 3);
  EXPECT_EQ(stats["backoff"], "5:3600");
  EXPECT_EQ(stats["dead"], "d");
}

TEST_F(Set, ADashTakesAwayWhatTheJobHas) {
  const std::string id = put("x", {"--expire", "1000", "--tries", "3"});
  EXPECT_EQ(run({"set", "job", id, "--expire", "-", "--tries", "-"}).code, 0);
  EXPECT_EQ(job(id)["expire-left"], 0);
  EXPECT_EQ(job(id)["tries"], 0);
}

TEST_F(Set, SeveralJobsAreAllTried) {
  const std::string reserved = put("x", {"--pri", "0"});
  const std::string buried = put("y");
  const std::string ready = put("z");
  support::ClientSocket worker = server_.connect();
  EXPECT_EQ(*worker.ask("reserve\r\n"), fmt::format("RESERVED {} 1\r\nx\r\n", reserved));
  EXPECT_EQ(run({"bury", buried}).code, 0);
  const ToolRun done = run({"set", "job", reserved, buried, "999", ready, "--delay", "5"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, fmt::format("changed {}\n", ready));
  EXPECT_THAT(done.err, HasSubstr(fmt::format("job {}: a worker has it", reserved)));
  EXPECT_THAT(done.err, HasSubstr(fmt::format("job {}: is buried, and cannot have", buried)));
  EXPECT_THAT(done.err, HasSubstr("job 999: there is no such job"));
  EXPECT_THAT(done.err, HasSubstr("3 of 4 jobs failed"));
}

TEST_F(Set, ChangesTheSettingsOfATube) {
  EXPECT_EQ(run({"set", "tube", "mail", "--tries", "5", "--backoff", "10:600", "--dead", "d",
                 "--expire", "1000", "--reserved", "20", "--rate", "10:1s", "--drain", "yes"})
                .out,
            "changed the settings of mail\n");
  auto settings = stats("--tube", "mail");
  EXPECT_EQ(settings["tries"], 5);
  EXPECT_EQ(settings["backoff"], "10:600");
  EXPECT_EQ(settings["dead"], "d");
  EXPECT_EQ(settings["expire"], 1000);
  EXPECT_EQ(settings["reserved-max"], 20);
  EXPECT_EQ(settings["rate"], "10:1");
  EXPECT_EQ(settings["draining"], true);
  EXPECT_THAT(run({"put", "x", "--tube", "mail"}).err, HasSubstr("DRAINING"));
  EXPECT_EQ(run({"set", "tube", "mail", "--rate", "-", "--tries=-", "--drain", "no"}).code, 0);
  settings = stats("--tube", "mail");
  EXPECT_EQ(settings["tries"], 0);
  EXPECT_EQ(settings["rate"], "");
  EXPECT_EQ(settings["draining"], false);
  EXPECT_EQ(settings["reserved-max"], 20);
}

}  // namespace
}  // namespace perennial::tool
