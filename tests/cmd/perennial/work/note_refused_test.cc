// A worker whose note is refused, as no real server does on request.

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial/scripted_server.h"
#include "tests/cmd/perennial/tool_process.h"

namespace perennial::tool {
namespace {

using support::ScriptedServer;
using support::ToolRun;
using testing::HasSubstr;
using testing::Not;

std::string document(const std::string& text) {
  return "OK " + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

const char* const note_command = "echo why >&2; exit 3";

// A server that has one job of the tube "mail", and whether it takes notes.
std::vector<ScriptedServer::Turn> conversation(bool has_notes) {
  const std::string job =
      "---\nid: 5\ntube: mail\nstate: reserved\npri: 7\nttr: 60\nreserves: 1\nreleases: 0\n"
      "timeouts: 0\n";
  return {{"watch mail", "WATCHING 2\r\n"},
          {"ignore default", "WATCHING 1\r\n"},
          {"extensions", has_notes ? document("---\n- notes\n") : "UNKNOWN_COMMAND\r\n"},
          {"reserve-with-timeout 30", "RESERVED 5 1\r\nx\r\n"},
          {"stats-job 5", document(job)}};
}

ToolRun work(const ScriptedServer& server, std::vector<std::string> flags = {}) {
  std::vector<std::string> arguments = {"work", "--once",   "--tube",
                                        "mail", "--server", server.address()};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"--", "sh", "-c", note_command});
  return support::run_tool(std::move(arguments));
}

TEST(NoteRefused, IsALineInTheLogAndNothingElse) {
  auto turns = conversation(true);
  turns.insert(turns.end(), {{"note 5 10", ""},
                             {"exit 3\nwhy", ""},
                             {"release 5 7 10", "OUT_OF_MEMORY\r\nRELEASED\r\n"}});
  ScriptedServer server(std::move(turns));
  const ToolRun done = work(server);
  EXPECT_EQ(server.heard(), "");
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("why\nlevel=warning at=work.no_note job=5 tube=mail error="));
  EXPECT_THAT(done.err, HasSubstr("OUT_OF_MEMORY"));
  EXPECT_THAT(done.err, HasSubstr("outcome=released status=3"));
}

// The answer to the release says it, too.
TEST(NoteRefused, AtAJobThatIsGoneIsTheLossOfTheJob) {
  auto turns = conversation(true);
  turns.insert(
      turns.end(),
      {{"note 5 10", ""}, {"exit 3\nwhy", ""}, {"release 5 7 10", "NOT_FOUND\r\nNOT_FOUND\r\n"}});
  ScriptedServer server(std::move(turns));
  const ToolRun done = work(server);
  EXPECT_EQ(server.heard(), "");
  EXPECT_THAT(done.err, HasSubstr("outcome=lost status=3"));
  EXPECT_THAT(done.err, Not(HasSubstr("work.no_note")));
}

TEST(NoteRefused, IsNotSentToAServerWithoutNotesOrWithNoNotes) {
  for (const bool has_notes : {false, true}) {
    auto turns = conversation(has_notes);
    turns.push_back({"release 5 7 10", "RELEASED\r\n"});
    ScriptedServer server(std::move(turns));
    const ToolRun done = work(
        server, has_notes ? std::vector<std::string>{"--no-notes"} : std::vector<std::string>());
    EXPECT_EQ(server.heard(), "");
    EXPECT_THAT(done.err, HasSubstr("outcome=released status=3"));
    EXPECT_THAT(done.err, testing::StartsWith("why\nlevel=warning at=work.job"));
  }
}

}  // namespace
}  // namespace perennial::tool
