// The man pages and completions that the build makes are complete, and they work.

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/subcommands.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
const fs::path documents = DOCUMENTS_DIR;

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
    files[documents / "man" / "perennial.1"] = manual_page(commands_);
    for (const Subcommand& command : commands_) {
      files[documents / "man" / manual_file(command)] = manual_page(command);
    }
    files[documents / "man" / "perennial-bench-plot.1"] = ".so man1/perennial-bench.1\n";
    files[documents / "completions" / "perennial.bash"] = bash_completions(commands_, groups_);
    files[documents / "completions" / "_perennial"] = zsh_completions(commands_, groups_);
    files[documents / "completions" / "perennial.fish"] = fish_completions(commands_, groups_);
    return files;
  }

  // What bash offers for the last of these words.
  static std::string completed(const std::string& words) {
    return output_of("bash -c 'source " + (documents / "completions" / "perennial.bash").string() +
                     "; COMP_WORDS=(perennial " + words +
                     "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _perennial; "
                     "echo -n \"${COMPREPLY[*]}\"'");
  }
};

TEST_F(Documents, AreWhatTheProgramPrints) {
  for (const auto& [path, text] : expected()) {
    EXPECT_EQ(read_file(path), text) << path << ": see etc/package/documents.sh";
  }
}

TEST_F(Documents, AreOfCommandsThatAreThere) {
  const auto files = expected();
  for (const char* folder : {"man", "completions"}) {
    for (const auto& entry : fs::directory_iterator(documents / folder)) {
      if (entry.path().extension() == ".5") continue;
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
    for (const Flag& flag : all_flags(command)) {
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
      {"flush --qu", "--quiet"},
      {"import-binlog --dry", "--dry-run"},
      {"import-binlog --from /us", "/usr"},
      {"import-binlog --dry-run --j", "--json"},
      {"no-such-command \"\"", ""},
  };
  for (const Case& each : cases) EXPECT_EQ(completed(each.words), each.want) << each.words;
}

TEST_F(Documents, ZshTakesItsCompletions) {
  output_of("zsh -n " + (documents / "completions" / "_perennial").string());
}

TEST_F(Documents, FishCompletesCommandsAndOptions) {
  struct Case {
    std::string words;
    std::string want;
  };
  const Case cases[] = {
      {"import-b", "import-binlog"}, {"set t", "tube"},         {"bench cycle-d", "cycle-deep"},
      {"completions z", "zsh"},      {"flush --qu", "--quiet"}, {"set tube --tri", "--tries"},
      {"put --until r", "reserved"},
  };
  for (const Case& each : cases) {
    const std::string offered =
        output_of("HOME=/nonexistent fish --no-config -c 'source " +
                  (documents / "completions" / "perennial.fish").string() +
                  "; complete -C \"perennial " + each.words + "\"' 2>/dev/null");
    EXPECT_EQ(offered.substr(0, offered.find_first_of("\t\n")), each.want) << each.words;
  }
}

}  // namespace
}  // namespace perennial::tool
