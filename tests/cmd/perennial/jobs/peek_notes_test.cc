// What perennial peek shows of a job whose notes are damaged on the disk of the server.

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial/scripted_server.h"
#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ClientSocket;
using support::ScriptedServer;
using support::ToolRun;
using testing::HasSubstr;
using testing::Not;

std::string document(const std::string& text) {
  return fmt::format("OK {}\r\n{}\r\n", text.size(), text);
}

const std::string job_with_four = "---\nid: 5\ntube: mail\nstate: ready\nnotes: 4\n";

// The answers of a server to a peek of job 5, which counts four notes.
std::vector<ScriptedServer::Turn> conversation(const std::string& notes, const std::string& again) {
  return {{"peek 5", "FOUND 5 4\r\nbody\r\n"},
          {"stats-job 5", document(job_with_four)},
          {"list-notes 5", notes},
          {"stats-job 5", again}};
}

TEST(PeekOfDamagedNotes, NamesThoseThatTheServerLeavesOut) {
  ScriptedServer server(
      conversation(document("---\n- number: 2\n  time: \"T\"\n  attempt: 1\n  text: \"why\"\n"
                            "- number: 4\n  time: \"U\"\n  attempt: 3\n  text: \"again\"\n"),
                   document(job_with_four)));
  const ToolRun shown = support::run_tool({"peek", "5", "--server", server.address()});
  EXPECT_EQ(server.heard(), "");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\nbody\n\nnote 2, T, attempt 1\nwhy\n"
                                   "note 3: missing (damaged on disk)\nnote 4, U, attempt 3\n"
                                   "again\n"));
}

// A server that cannot read the disk there.
TEST(PeekOfDamagedNotes, ShowsTheJobWhereNoneCanBeRead) {
  ScriptedServer server(conversation("INTERNAL_ERROR\r\n", document(job_with_four)));
  const ToolRun shown = support::run_tool({"peek", "5", "--server", server.address()});
  EXPECT_EQ(server.heard(), "");
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("\nbody\n\nnote 2: missing (damaged on disk)\n"
                                   "note 3: missing (damaged on disk)\n"
                                   "note 4: missing (damaged on disk)\n"));
}

// Its notes are gone with it, and none is damaged.
TEST(PeekOfDamagedNotes, NamesNoneOfAJobThatIsDeletedMeanwhile) {
  for (const std::string& notes : {document("--- []\n"), std::string("NOT_FOUND\r\n")}) {
    auto turns = conversation(notes, "NOT_FOUND\r\n");
    if (notes == "NOT_FOUND\r\n") turns.pop_back();
    ScriptedServer server(std::move(turns));
    const ToolRun shown = support::run_tool({"peek", "5", "--server", server.address()});
    EXPECT_EQ(server.heard(), "");
    EXPECT_EQ(shown.code, 0) << shown.err;
    EXPECT_THAT(shown.out, HasSubstr("\nbody\n"));
    EXPECT_THAT(shown.out, Not(HasSubstr("missing")));
  }
}

class PeekOnADamagedDisk : public ToolAndServer {
 protected:
  // It cannot be compressed much, so that the table of notes is the largest.
  static std::string text_of(int job, int number) {
    const std::string_view letters =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    uint64_t state = static_cast<uint64_t>(job * 10 + number);
    std::string text = fmt::format("note {} of {}: ", number, job);
    while (text.size() < 400) {
      state = state * 6364136223846793005 + 1442695040888963407;
      text += letters[(state >> 33) % letters.size()];
    }
    return text;
  }
  void put_with_notes(int jobs) {
    ClientSocket client = server_.connect();
    std::string sent;
    for (int job = 1; job <= jobs; ++job) {
      sent += "put 0 0 60 1\r\nx\r\n";
      for (int number = 1; number <= 4; ++number) {
        const std::string text = text_of(job, number);
        sent += fmt::format("note {} {}\r\n{}\r\n", job, text.size(), text);
      }
    }
    ASSERT_TRUE(client.send(sent).ok());
    for (int job = 1; job <= jobs; ++job) {
      ASSERT_EQ(*client.read_reply(), fmt::format("INSERTED {}\r\n", job));
      for (int number = 1; number <= 4; ++number) ASSERT_EQ(*client.read_reply(), "NOTED\r\n");
    }
  }
  void flip_a_bit_of_notes() const {
    fs::path largest;
    for (const auto& entry : fs::directory_iterator(server_.data_dir() + "/db")) {
      if (entry.path().extension() != ".sst") continue;
      if (largest.empty() || fs::file_size(entry) > fs::file_size(largest)) largest = entry.path();
    }
    std::fstream file(largest, std::ios::in | std::ios::out | std::ios::binary);
    const auto place = static_cast<std::streamoff>(fs::file_size(largest) / 2);
    file.seekg(place);
    const char byte = static_cast<char>(file.get() ^ 4);
    file.seekp(place);
    file.put(byte);
  }
};

TEST_F(PeekOnADamagedDisk, ShowsEveryJobAndAllNotesThatAreNotInTheBlock) {
  constexpr int jobs = 200;
  put_with_notes(jobs);
  ASSERT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
  flip_a_bit_of_notes();
  ASSERT_TRUE(server_.start().ok()) << server_.stderr_text();
  ClientSocket client = server_.connect();
  std::set<int> damaged;
  for (int job = 1; job <= jobs; ++job) {
    const std::string listed = *client.ask(fmt::format("list-notes {}\r\n", job));
    EXPECT_EQ(listed.substr(0, 3), "OK ") << listed;
    for (int number = 2; number <= 4; ++number) {
      if (listed.find(text_of(job, number)) == std::string::npos) damaged.insert(job);
    }
  }
  EXPECT_FALSE(damaged.empty());
  EXPECT_LE(damaged.size(), 30U) << "a block of 16 KiB";
  const std::string id = std::to_string(*damaged.begin());
  const ToolRun shown = run({"peek", id});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr(": missing (damaged on disk)\n"));
  const nlohmann::json as_json = nlohmann::json::parse(run({"peek", id, "--json"}).out);
  EXPECT_EQ(as_json["notes"], 4);
  EXPECT_EQ(run({"list", "default", "--wide"}).code, 0);
  const std::string stats = *client.ask("stats\r\n");
  EXPECT_THAT(stats, HasSubstr("current-jobs-buried: 0\n"));
  EXPECT_THAT(stats, HasSubstr("store-state: ok\n"));
  EXPECT_EQ(server_.terminate()->code, 0) << server_.stderr_text();
  EXPECT_THAT(server_.stderr_text(), HasSubstr("at=store.damage_contained family=notes"));
}

}  // namespace
}  // namespace perennial::tool
