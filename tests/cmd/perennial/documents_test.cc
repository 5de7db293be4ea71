// The man pages and completions in etc/ are what the program prints, and they work. After a change
// of a command run UPDATE_DOCUMENTS=1 build/tool_test --gtest_filter='Documents.*' and read the
// diff.

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "cmd/perennial/completions.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/subcommands.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
const fs::path etc = ETC_DIR;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer;
  for (size_t count; (count = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), count);
  }
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return out;
}

class Documents : public testing::Test {
 protected:
  const std::vector<Subcommand> commands_ = all_commands();
  const std::vector<Group> groups_ = all_groups();

  std::map<fs::path, std::string> expected() const {
    std::map<fs::path, std::string> files;
    files[etc / "man" / "perennial.1"] = manual_page(commands_);
    for (const Subcommand& command : commands_) {
      files[etc / "man" / manual_file(command)] = manual_page(command);
    }
    files[etc / "man" / "perennial-bench-plot.1"] = ".so man1/perennial-bench.1\n";
    files[etc / "completions" / "perennial.bash"] = bash_completions(commands_, groups_);
    files[etc / "completions" / "_perennial"] = zsh_completions(commands_, groups_);
    return files;
  }

  // What bash offers for the last of these words.
  static std::string completed(const std::string& words) {
    return output_of("bash -c 'source " + (etc / "completions" / "perennial.bash").string() +
                     "; COMP_WORDS=(perennial " + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _perennial; "
                     "echo -n \"${COMPREPLY[*]}\"'");
  }
};

TEST_F(Documents, AreWhatTheProgramPrints) {
  const bool update = std::getenv("UPDATE_DOCUMENTS") != nullptr;
  for (const auto& [path, text] : expected()) {
    if (update) std::ofstream(path) << text;
    EXPECT_EQ(read_file(path), text) << path << " is not up to date: see the head of this test";
  }
}

TEST_F(Documents, AreOfCommandsThatAreThere) {
  const auto files = expected();
  for (const char* folder : {"man", "completions"}) {
    for (const auto& entry : fs::directory_iterator(etc / folder)) {
      if (entry.path().extension() == ".8" || entry.path().extension() == ".5") continue;
      EXPECT_TRUE(files.contains(entry.path())) << entry.path() << " is of no command";
    }
  }
}

TEST_F(Documents, EveryCommandExplainsItself) {
  std::set<std::string> names;
  for (const Subcommand& command : commands_) {
    SCOPED_TRACE(command.name);
    EXPECT_TRUE(names.insert(command.name).second);
    EXPECT_FALSE(command.summary.empty() || command.summary.ends_with('.'));
    EXPECT_TRUE(command.about.ends_with('.'));
    EXPECT_NE(command.examples.find("perennial " + command.name), std::string::npos);
    for (const Flag& flag : command.flags) {
      EXPECT_FALSE(flag.help.empty() || flag.help.ends_with('.')) << flag.name;
    }
  }
}

TEST_F(Documents, BashCompletesCommandsAndOptions) {
  struct Case {
    std::string words;
    std::string want;
  };
  const Case cases[] = {
      {"import-b", "import-binlog"},
      {"ben", "bench"},
      {"bench cycle-d", "cycle-deep"},
      {"bench put --in", "--in-flight --insecure-token"},
      {"completions z", "zsh"},
      {"import-binlog --dry", "--dry-run"},
      {"import-binlog --from /us", "/usr"},
      {"import-binlog --dry-run --j", "--json"},
      {"no-such-command \"\"", ""},
  };
  for (const Case& each : cases) EXPECT_EQ(completed(each.words), each.want) << each.words;
}

TEST_F(Documents, ZshTakesItsCompletions) {
  output_of("zsh -n " + (etc / "completions" / "_perennial").string());
}

}  // namespace
}  // namespace perennial::tool
