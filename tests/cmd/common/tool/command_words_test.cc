// What the tool says of words that name no command.

#include "cmd/common/tool/command_words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

std::string why(const std::vector<std::string>& arguments) {
  std::vector<Subcommand> commands;
  for (const char* name : {"stats", "flush", "set job", "set tube", "cluster handover"}) {
    commands.emplace_back().name = name;
  }
  const std::vector<Group> groups = {{"set", ""}, {"cluster", ""}};
  return why_no_command(commands, groups, arguments);
}

struct WordsCase {
  const char* name;
  std::vector<std::string> arguments;
  const char* why;
};

class CommandWords : public testing::TestWithParam<WordsCase> {};

TEST_P(CommandWords, AreExplained) {
  EXPECT_EQ(why(GetParam().arguments), GetParam().why);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CommandWords,
    testing::Values(
        WordsCase{"Command", {"stats"}, ""},
        WordsCase{"CommandWithArguments", {"flush", "flsh"}, ""},
        WordsCase{"CommandOfAGroup", {"set", "tube", "x"}, ""}, WordsCase{"Flag", {"--help"}, ""},
        WordsCase{"FlagOfAGroup", {"set", "--help"}, ""},
        WordsCase{"Nothing", {}, "which command? 'perennial help' lists them"},
        WordsCase{"Empty", {""}, "there is no command ''; 'perennial help' lists them"},
        WordsCase{"LetterMissing", {"flsh"}, "there is no command 'flsh'; did you mean 'flush'?"},
        WordsCase{"LetterTooMany", {"sett"}, "there is no command 'sett'; did you mean 'set'?"},
        WordsCase{
            "LettersSwapped", {"tsats"}, "there is no command 'tsats'; did you mean 'stats'?"},
        WordsCase{
            "NothingLikeIt", {"frob"}, "there is no command 'frob'; 'perennial help' lists them"},
        WordsCase{"GroupAlone", {"set"}, "which command? 'set job' or 'set tube'"},
        WordsCase{"WrongInAGroup",
                  {"set", "tub"},
                  "there is no command 'set tub'; did you mean 'set tube'?"},
        WordsCase{"WithoutItsGroup",
                  {"handover"},
                  "there is no command 'handover'; did you mean 'cluster handover'?"}),
    [](const auto& one) { return one.param.name; });

TEST(Suggestion, IsTheNearestWordOrNone) {
  const std::vector<std::string> known = {"--server", "--state", "--tube"};
  EXPECT_EQ(suggestion("--sever", known), "; did you mean '--server'?");
  EXPECT_EQ(suggestion("--stats", known), "; did you mean '--state'?");
  EXPECT_EQ(suggestion("--body", known), "");
  EXPECT_EQ(suggestion(std::string(100'000, 's'), known), "");
  EXPECT_EQ(suggestion("x", {}), "");
}

}  // namespace
}  // namespace perennial::tool
