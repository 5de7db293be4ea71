#include "cmd/perenniald/config/flags.h"

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

using store::Durability;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Invocation parse(const std::vector<std::string>& words) {
  std::vector<const char*> arguments{"perenniald"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parse_command_line(static_cast<int>(arguments.size()), arguments.data());
}

Config accepted(const std::vector<std::string>& words) {
  Invocation got = parse(words);
  EXPECT_EQ(got.action, Invocation::Action::Serve) << got.err;
  return got.config;
}

TEST(Flags, WithoutFlagsTheDefaultsAreUsed) {
  const Config config = accepted({});
  EXPECT_EQ(print_config(config), print_config(default_config()));
}

TEST(Flags, ShortFlagsCombineAsInGetopt) {
  const Config a = accepted({"-Vb", "dir", "-VV", "-p5", "-f0"});
  EXPECT_EQ(a.verbosity, 3u);
  EXPECT_EQ(a.data_dir, "dir");
  EXPECT_EQ(a.port, 5);
  EXPECT_EQ(a.durability, Durability::Commit);
  const Config b = accepted({"-VFbdir", "-z100", "-ulocal", "-lunix:s"});
  EXPECT_EQ(b.durability, Durability::Never);
  EXPECT_EQ(b.data_dir, "dir");
  EXPECT_EQ(b.job_bytes_max, 100u);
  EXPECT_EQ(b.user, "local");
  EXPECT_THAT(b.listen, ElementsAre("unix:s"));
}

// As getopt and strtoul() take them.
TEST(Flags, AFlagAndItsNumberMayBeOneWord) {
  EXPECT_EQ(accepted({"-z 524280"}).job_bytes_max, 524280u);
  EXPECT_EQ(accepted({"-z", " 524280"}).job_bytes_max, 524280u);
  EXPECT_EQ(accepted({"-p 1234"}).port, 1234);
  EXPECT_EQ(accepted({"-f 1000"}).sync_interval_ms, 1000u);
  EXPECT_EQ(accepted({"-f 1000"}).durability, Durability::Interval);
  EXPECT_EQ(parse({"-s 10485760"}).action, Invocation::Action::Serve);
  EXPECT_THAT(parse({"-z 5 6"}).err, HasSubstr("-z: "));
}

TEST(Flags, LongFlagsAreAccepted) {
  const Config config = accepted({"--data-dir", "d", "--listen=127.0.0.1", "--listen", "[::1]:1",
                                  "--port=http", "--user", "u", "--job-bytes-max", "1MiB"});
  EXPECT_EQ(config.data_dir, "d");
  EXPECT_THAT(config.listen, ElementsAre("127.0.0.1", "[::1]:1"));
  EXPECT_EQ(config.port, 80);
  EXPECT_EQ(config.user, "u");
  EXPECT_EQ(config.job_bytes_max, 1u << 20);
}

TEST(Flags, OnlyAFlagAllowsTheLossOfDataAfterDamage) {
  EXPECT_EQ(accepted({}).recover, store::Recover::Strict);
  EXPECT_EQ(accepted({"--recover=point-in-time"}).recover, store::Recover::PointInTime);
  EXPECT_THAT(parse({"--recover=anything"}).err, HasSubstr("--recover: anything not in"));
  EXPECT_THAT(print_config(default_config()), testing::Not(HasSubstr("recover:")));
}

TEST(Flags, TheLastOccurrenceOfAFlagCounts) {
  EXPECT_EQ(accepted({"-p", "1", "-p", "2"}).port, 2);
  EXPECT_EQ(accepted({"-b", "a", "-bb"}).data_dir, "b");
  EXPECT_EQ(accepted({"-F", "-f", "20"}).durability, Durability::Interval);
  EXPECT_EQ(accepted({"-F", "-f", "20"}).sync_interval_ms, 20u);
  EXPECT_EQ(accepted({"-f", "20", "-F"}).durability, Durability::Never);
  EXPECT_EQ(accepted({"-F", "-f0"}).durability, Durability::Commit);
}

TEST(Flags, AJobSizeThatIsTooLargeIsLoweredAsInBeanstalkd) {
  EXPECT_EQ(accepted({"-z", "1073741824"}).job_bytes_max, 1u << 30);
  const Invocation got = parse({"-z", "1073741825"});
  EXPECT_EQ(got.action, Invocation::Action::Serve);
  EXPECT_EQ(got.config.job_bytes_max, 1u << 30);
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("1073741825")));
}

TEST(Flags, FlagsWithoutEffectAreAccepted) {
  const Invocation got = parse({"-c", "-n", "-s", "10485760"});
  EXPECT_EQ(got.action, Invocation::Action::Serve);
  EXPECT_THAT(got.warnings, ElementsAre(HasSubstr("-c"), HasSubstr("-n")));
  EXPECT_EQ(print_config(got.config), print_config(default_config()));
}

TEST(Flags, BadFlagsAreReportedAndEndWith5) {
  struct Case {
    std::vector<std::string> words;
    std::string wanted;
  };
  const Case cases[] = {
      {{"-p"}, "--port"},
      {{"-p", "65536"}, "-p: '65536' is no port"},
      {{"-p", "no-such-service"}, "-p: 'no-such-service' is no port"},
      {{"-z", "0"}, "-z: '0' is not a number of bytes from 1 to 1GiB"},
      {{"-z", "x"}, "-z: 'x' is not a number of bytes"},
      {{"-z", "-5"}, "-z: '-5' is not a number of bytes"},
      {{"-f", "-1"}, "-f: '-1' is not a number of milliseconds from 0 to 3600000"},
      {{"-f", "3600001"}, "-f: '3600001' is not a number of milliseconds"},
      {{"-s", "x"}, "-s: 'x' is not a number of bytes"},
      {{"-b", ""}, "-b: must not be empty"},
      {{"-l", "[::1"}, "-l: '[::1' lacks"},
      {{"-l", "unix:"}, "-l: 'unix:' needs"},
      {{"-x"}, "-x"},
      {{"--no-such-flag"}, "--no-such-flag"},
      {{"word"}, "word"},
      {{"--verbose=99999999999999999999"}, "--verbose: takes no value"},
      {{"--verbose=-1"}, "--verbose: takes no value"},
      {{"--print-config=no"}, "--print-config: takes no value"},
      {{"--config", "/no/such/file"}, "/no/such/file: cannot be read"},
  };
  for (const Case& c : cases) {
    const Invocation got = parse(c.words);
    EXPECT_EQ(got.action, Invocation::Action::Exit) << c.words[0];
    EXPECT_EQ(got.exit_code, 5);
    EXPECT_THAT(got.err, HasSubstr(c.wanted));
    EXPECT_THAT(got.err, HasSubstr("perenniald -h"));
    EXPECT_THAT(got.out, IsEmpty());
  }
}

TEST(Flags, EveryProblemIsReported) {
  const Invocation got = parse({"-p", "x", "-z", "y", "-f", "z"});
  EXPECT_THAT(got.err,
              testing::AllOf(HasSubstr("-p: 'x'"), HasSubstr("-z: 'y'"), HasSubstr("-f: 'z'")));
}

TEST(Flags, VersionAndHelpArePrinted) {
  for (const std::string flag : {"-v", "--version", "-Vv"}) {
    const Invocation got = parse({flag});
    EXPECT_EQ(got.action, Invocation::Action::Exit);
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_THAT(got.out, testing::MatchesRegex("perenniald [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  }
  const Invocation help = parse({"-h"});
  EXPECT_EQ(help.exit_code, 0);
  for (const std::string flag :
       {"-b", "-f", "-F", "-l", "-p", "-u", "-z", "-s", "-c", "-n", "-v", "-V", "-h", "--data-dir",
        "--listen", "--port", "--config", "--print-config", "--check-config"}) {
    EXPECT_THAT(help.out, HasSubstr(flag));
  }
}

class FlagsAndFile : public testing::Test {
 protected:
  std::string file(const std::string& yaml) {
    const std::string path = dir_.path() + "/perennial.yaml";
    std::ofstream(path) << yaml;
    return path;
  }
  support::TempDir dir_;
};

TEST_F(FlagsAndFile, FlagsOverrideTheFile) {
  const std::string path =
      file("port: 1\ndata_dir: file\nlisten: [127.0.0.1]\nverbosity: 2\ndurability: never\n");
  const Config kept = accepted({"--config", path});
  EXPECT_EQ(kept.port, 1);
  EXPECT_EQ(kept.verbosity, 2u);
  EXPECT_EQ(kept.durability, Durability::Never);
  const Config config =
      accepted({"-p", "2", "--config", path, "-b", "flag", "-l", "unix:s", "-V", "-f", "7"});
  EXPECT_EQ(config.port, 2);
  EXPECT_EQ(config.data_dir, "flag");
  EXPECT_THAT(config.listen, ElementsAre("unix:s"));
  EXPECT_EQ(config.verbosity, 1u);
  EXPECT_EQ(config.durability, Durability::Interval);
  EXPECT_EQ(config.sync_interval_ms, 7u);
}

TEST_F(FlagsAndFile, ProblemsOfBothAreReportedTogether) {
  const std::string path = file("port: x\nnothing: 1\n");
  const Invocation got = parse({"--config", path, "-z", "y"});
  EXPECT_EQ(got.exit_code, 5);
  EXPECT_THAT(got.err, testing::AllOf(HasSubstr(path + ":1: port:"),
                                      HasSubstr(path + ":2: nothing:"), HasSubstr("-z: 'y'")));
}

TEST_F(FlagsAndFile, PrintConfigShowsTheResultOfBoth) {
  const Invocation got = parse({"--config", file("jobs_max: 9\n"), "-p", "2", "--print-config"});
  EXPECT_EQ(got.action, Invocation::Action::Check);
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_THAT(got.out, testing::AllOf(HasSubstr("\njobs_max: 9\n"), HasSubstr("\nport: 2\n")));
}

// What counts is the value after the flags, so that a flag may mend what the file has.
TEST_F(FlagsAndFile, AClusterRefusesWhatItsAnswersCannotWaitFor) {
  if (!cluster_is_built()) GTEST_SKIP() << "this build refuses every section";
  const std::string cluster =
      "cluster: {name: j, node: a, etcd: 'http://a:1', client_address: 'a:2'}\n";
  const std::string path = file(cluster);
  EXPECT_EQ(accepted({"--config", path, "-f0", "-z", "1048576"}).batch_bytes_max, 262'144u);
  EXPECT_THAT(parse({"--config", path, "-f", "20"}).err, HasSubstr("durability is interval"));
  EXPECT_THAT(parse({"--config", path, "-F"}).err, HasSubstr("durability is never"));
  EXPECT_THAT(parse({"--config", path, "-z", "1048577"}).err,
              HasSubstr("job_bytes_max is 1048577"));
  accepted({"--config", file(cluster + "durability: never\njob_bytes_max: 2MiB\n"), "-f0", "-z9"});
  const Invocation got = parse({"--config", file(cluster + "batch_bytes_max: 4MiB\n"), "-F"});
  EXPECT_EQ(got.exit_code, 5);
  EXPECT_THAT(got.err, testing::AllOf(HasSubstr("durability is"), HasSubstr("batch_bytes_max is")));
}

TEST_F(FlagsAndFile, CheckConfigReportsProblemsAndExits) {
  EXPECT_EQ(parse({"--config", file("jobs_max: 9\n"), "--check-config"}).exit_code, 0);
  EXPECT_EQ(parse({"--config", file("jobs_max: x\n"), "--check-config"}).exit_code, 5);
}

}  // namespace
}  // namespace perennial::perenniald
