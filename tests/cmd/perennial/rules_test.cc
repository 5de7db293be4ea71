// What a script can rely on, of every subcommand: a table that is made by running them all. A hole
// in it has a reason here; one that has opened, or is closed, is a failure.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/subcommands.h"
#include "tests/cmd/perennial/canned_server.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/cmd/perennial/command_lines.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::ServerProcess;
using support::ToolRun;

// The columns.
const std::vector<std::string> rules = {"json",         "quiet",    "timeout", "durations",
                                        "exit codes",   "--yes",    "dry run", "/dev/full",
                                        "unknown tube", "no server"};

struct Hole {
  std::string rule;
  std::vector<std::string> commands;
  std::string why;
};

const std::vector<Hole>& holes() {
  static const std::string needs_cluster = "needs a cluster: tests/cluster runs it";
  static const std::vector<std::string> of_clusters = {
      "cluster status", "cluster handover", "cluster resign",  "cluster pause", "cluster resume",
      "cluster repair", "cluster init",     "cluster recover", "cluster verify"};
  static const std::vector<Hole> all = {
      {"json", {"top"}, "is a screen; stats and tubes have the numbers"},
      {"json", {"work"}, "has --log json"},
      {"json", {"token new"}, "prints one word"},
      {"json", {"schedule export"}, "prints the file that schedule apply reads"},
      {"json", {"manual", "completions"}, "prints a document in the form of another program"},
      {"timeout", of_clusters, "waits three seconds for etcd; --wait is for the nodes"},
      {"timeout", {"bench"}, "measures how long a server takes, so a wait is a result"},
      {"quiet", of_clusters, needs_cluster},
      {"exit codes", of_clusters, needs_cluster},
      {"/dev/full", of_clusters, needs_cluster},
      {"--yes", {"restore"}, "never writes into a directory that is there"},
      {"dry run", {"restore"}, "never writes into a directory that is there"},
      {"dry run", {"repair"}, "without --yes and a terminal it says what it would do"},
      {"unknown tube", {"put", "set tube"}, "makes the tube, or what it will be"},
      {"unknown tube",
       {"schedule list", "schedule pause", "schedule set", "schedule export"},
       "the tube of a schedule need not exist"},
      {"unknown tube", {"restore-tube"}, "a tube that is gone may keep jobs"},
      {"unknown tube", {"work"}, "waits for the tube"},
      {"unknown tube", {"copy"}, "says so and goes on: a tube ends with its last job"},
      {"unknown tube", {"peek"}, "says that the tube has no such job"},
      {"unknown tube", {"export-beanstalkd"}, "goes on: a tube may end while others are moved"},
  };
  return all;
}

// Commands after which something is gone that cannot be had again.
bool destroys(const std::string& command) {
  static const std::vector<std::string> all = {
      "flush",   "move",  "kick",   "delete",         "checkpoint prune",
      "restore", "drain", "repair", "schedule apply", "schedule delete"};
  return std::ranges::find(all, command) != all.end();
}

// Those of an unknown tube, for the commands that take one.
const std::map<std::string, std::string> unknown_tube_lines = {
    {"stats", "stats --tube none"},
    {"peek", "peek --ready --tube none"},
    {"kick", "kick --tube none --count 1"},
    {"pause", "pause none 1"},
    {"list", "list none"},
    {"flush", "flush none"},
    {"move", "move none other"},
};

const Flag* find_flag(const std::vector<Flag>& flags, const std::string& name) {
  const auto found = std::ranges::find_if(flags, [&](const Flag& flag) {
    return flag.name == name || flag.name.ends_with("," + name);
  });
  return found == flags.end() ? nullptr : &*found;
}

bool has(const Subcommand& command, const std::string& name) {
  const std::vector<Flag> flags = all_flags(command);
  return find_flag(flags, name) != nullptr;
}

bool is_time(const Flag& flag) {
  return std::visit(
      [](auto* target) {
        using Target = std::remove_pointer_t<decltype(target)>;
        return std::is_same_v<Target, std::chrono::seconds> ||
               std::is_same_v<Target, std::chrono::milliseconds> ||
               std::is_same_v<Target, std::optional<std::chrono::seconds>> ||
               std::is_same_v<Target, std::optional<std::chrono::milliseconds>>;
      },
      flag.target);
}

// Whether each flag that is a time says DURATION, and no other speaks of seconds.
bool has_durations(const Subcommand& command) {
  return std::ranges::all_of(all_flags(command), [](const Flag& flag) {
    if (is_time(flag)) return flag.value == "DURATION";
    const std::string text = flag.value + " " + flag.help;
    return text.find("SECONDS") == std::string::npos && text.find(" seconds") == std::string::npos;
  });
}

class Rules : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(server_.start().ok());
    ASSERT_TRUE(other_.start().ok());
    for (int i = 0; i < 9; ++i)
      ASSERT_EQ(support::run_tool({"put", "body", "--server", server_.address()}).code, 0);
    // So that a job that was deleted can be put back.
    const std::vector<std::string> keep = {"set", "tube",     "default",        "--keep",
                                           "1h",  "--server", server_.address()};
    ASSERT_EQ(support::run_tool(keep).code, 0);
  }

  Places places() const {
    return {server_.address(), other_.address(), server_.data_dir(), server_.dir()};
  }

  // Runs the line with `flags` behind the command.
  ToolRun run(const std::string& command, const std::string& line, const std::string& flags,
              const Places& places, const std::string& out = {}) const {
    const std::string to = out.empty() ? server_.dir() + "/out" : out;
    const std::string err = server_.dir() + "/err";
    const std::string whole =
        fmt::format("{} {}{} >{} 2>{} </dev/null", support::tool_path(), command + flags,
                    filled_in(line.substr(command.size()), places), to, err);
    const int status = std::system(whole.c_str());
    return {.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            .out = out.empty() ? read_file(to) : "",
            .err = read_file(err)};
  }

  // Whether it prints one value of JSON, or one in each line. Where the line cannot be run again,
  // as a job is deleted once, it prints nothing.
  bool speaks_json(const CommandLine& one) const {
    const ToolRun done = run(one.command, one.line, " --json", places());
    if (nlohmann::json::accept(done.out)) return true;
    std::istringstream lines(done.out);
    std::string line;
    while (std::getline(lines, line))
      if (!nlohmann::json::accept(line)) return false;
    return done.code != 0 || !done.out.empty();
  }
  bool is_quiet(const CommandLine& one) const {
    const ToolRun done = run(one.command, one.line, " --quiet", places());
    EXPECT_EQ(done.err, "") << one.line;
    return done.code == 0 && done.out.empty();
  }
  bool gives_up(const Subcommand& command, const CommandLine& one) const {
    const std::string name = has(command, "--server-timeout") ? "--server-timeout" : "--timeout";
    if (!has(command, name)) return false;
    Places silent = places();
    silent.server = silent_.address();
    const ToolRun done = run(one.command, one.line, " " + name + " 50ms", silent);
    return done.code == 1 && done.err.find("the server does not answer") != std::string::npos;
  }
  bool misses_server(const CommandLine& one) const {
    Places none = places();
    none.server = "unix:" + server_.dir() + "/none";
    const ToolRun done = run(one.command, one.line, "", none);
    return done.code == 1 && done.out.empty() && done.err.find("connect: ") != std::string::npos;
  }
  bool misses_tube(const std::string& command, const std::string& line) const {
    const ToolRun done = run(command, line + " --server SERVER", "", places());
    return done.code == 1 && done.out.empty() &&
           done.err.find("there is no tube 'none'") != std::string::npos;
  }

  ServerProcess server_;
  ServerProcess other_;
  const support::CannedServer silent_{""};
};

// What was found: nothing where a rule has nothing to say of a command.
using Row = std::map<std::string, bool>;

void print(const std::vector<std::pair<std::string, Row>>& table) {
  std::string text = fmt::format("{:<18}", "");
  for (const std::string& rule : rules) text += "  " + rule;
  for (const auto& [command, row] : table) {
    text += fmt::format("\n{:<18}", command);
    for (const std::string& rule : rules) {
      const auto found = row.find(rule);
      const char* const mark = found == row.end() ? "" : found->second ? "yes" : "NO";
      text += fmt::format("  {:<{}}", mark, rule.size());
    }
  }
  fmt::print("{}\n", text);
}

std::string reason_of(const std::string& command, const std::string& rule) {
  for (const Hole& hole : holes()) {
    const bool is_of = std::ranges::find(hole.commands, command) != hole.commands.end();
    if (hole.rule == rule && is_of) return hole.why;
  }
  return {};
}

TEST_F(Rules, EverySubcommandHasARow) {
  for (const Subcommand& command : all_commands()) {
    const auto named = [&](const CommandLine& one) { return one.command == command.name; };
    EXPECT_EQ(std::ranges::count_if(command_lines(), named), 1)
        << command.name << ": add a line for it to command_lines()";
  }
}

TEST_F(Rules, HaveNoHoleWithoutAReason) {
  const std::vector<Subcommand> commands = all_commands();
  std::map<std::string, Row> found;
  const auto row_of = [&](const CommandLine& one) {
    const auto command = std::ranges::find(commands, one.command, &Subcommand::name);
    Row& row = found[one.command];
    row["durations"] = has_durations(*command);
    if (destroys(one.command)) {
      row["--yes"] = has(*command, "--yes");
      row["dry run"] = has(*command, "--dry-run");
    }
    const bool talks =
        one.needs == Needs::Server || has(*command, "--server") || has(*command, "--etcd");
    if (talks) row["timeout"] = has(*command, "--timeout") || has(*command, "--server-timeout");
    if (one.needs == Needs::Server) {
      row["no server"] = misses_server(one);
      row["timeout"] = gives_up(*command, one);
    }
    const bool has_tube = has(*command, "--tube") || has(*command, "TUBE") || has(*command, "FROM");
    const auto line = unknown_tube_lines.find(one.command);
    if (has_tube && one.needs == Needs::Server && one.command != "set job")
      row["unknown tube"] =
          line != unknown_tube_lines.end() && misses_tube(one.command, line->second);
    const ToolRun misused = run(one.command, one.command, " --no-such-option", places());
    const ToolRun full = run(one.command, one.command, " --help", places(), "/dev/full");
    row["/dev/full"] = !one.line.empty() && full.code == 1;
    row["quiet"] = !one.line.empty() && is_quiet(one);
    row["json"] = has(*command, "--json") && (one.line.empty() || speaks_json(one));
    // A run that succeeds is one of those of the column before.
    row["exit codes"] = row["quiet"] && misused.code == 2 && misused.out.empty();
  };
  for (const CommandLine& one : command_lines()) {
    if (one.needs != Needs::DataDir) row_of(one);
  }
  ASSERT_EQ(server_.terminate()->code, 0);
  prepare_data_dir(server_.data_dir(), server_.dir());
  for (const CommandLine& one : command_lines()) {
    if (one.needs == Needs::DataDir) row_of(one);
  }
  std::vector<std::pair<std::string, Row>> table;
  for (const Subcommand& command : commands) table.emplace_back(command.name, found[command.name]);
  print(table);
  for (const auto& [command, row] : table) {
    for (const std::string& rule : rules) {
      const auto one = row.find(rule);
      const bool is_hole = one != row.end() && !one->second;
      const std::string why = reason_of(command, rule);
      EXPECT_FALSE(is_hole && why.empty()) << command << ": " << rule << " is a hole";
      EXPECT_FALSE(!is_hole && !why.empty())
          << command << ": " << rule << " is no hole any more: take it from holes()";
    }
  }
}

}  // namespace
}  // namespace perennial::tool
