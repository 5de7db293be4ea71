// perennial put with options of the protocol, on servers that know them and on those that do not.

#include <string>
#include <vector>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::Program;
using support::ToolRun;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using Arguments = std::vector<std::string>;

class PutWithOptions : public ToolAndServer {};

TEST_F(PutWithOptions, GivesThemToTheJob) {
  const auto stats = job(put(
      "x", {"--tries", "5", "--backoff", "10s:600", "--dead", "mail-dead", "--expire", "3600"}));
  EXPECT_EQ(stats["tries"], 5);
  EXPECT_EQ(stats["backoff"], "10:600");
  EXPECT_EQ(stats["dead"], "mail-dead");
  EXPECT_GT(stats["expire-left"], 3500);
}

TEST_F(PutWithOptions, TakesMilliseconds) {
  const auto brief = job(put("x", {"--delay", "60250ms", "--ttr", "1500ms"}));
  EXPECT_EQ(brief["delay-ms"], 60250);
  EXPECT_EQ(brief["ttr-ms"], 1500);
  const auto whole = job(put("x", {"--delay", "1000s", "--ttr", "2000ms"}));
  EXPECT_EQ(whole["delay"], 1000);
  EXPECT_EQ(whole["ttr"], 2);
}

TEST_F(PutWithOptions, ADuplicateHasAnExitStatusOfItsOwn) {
  const std::string id = put("x", {"--tube", "mail", "--idp", "k:60"});
  const Arguments again = {"put", "y", "--tube", "mail", "--idp", "k"};
  const ToolRun held = run(again);
  EXPECT_EQ(held.code, 3);
  EXPECT_EQ(held.out, id + "\n");
  EXPECT_EQ(held.err,
            "perennial put: nothing was put: job " + id + " has the key already, and is ready\n");
  EXPECT_EQ(run({"delete", id}).code, 0);
  const ToolRun cooldown = run(again);
  EXPECT_EQ(cooldown.code, 3);
  EXPECT_EQ(cooldown.out, id + "\n");
  EXPECT_THAT(cooldown.err, HasSubstr("and is deleted"));
  EXPECT_EQ(run({"put", "y", "--tube", "other", "--idp", "k"}).code, 0);
}

TEST_F(PutWithOptions, UntilSaysWhenTheKeyIsGivenUp) {
  const std::string id = put("x", {"--idp", "k", "--until", "reserved"});
  support::ClientSocket worker = server_.connect();
  EXPECT_EQ(*worker.ask("reserve\r\n"), "RESERVED " + id + " 1\r\nx\r\n");
  EXPECT_EQ(run({"put", "y", "--idp", "k"}).code, 0);
}

// The reply is the same for a tube and for the server.
TEST_F(PutWithOptions, IsToldWhetherTheTubeOrTheServerDrains) {
  put("x", {"--tube", "mail"});
  EXPECT_EQ(run({"set", "tube", "mail", "--drain", "yes"}).code, 0);
  for (const Arguments& body : {Arguments{"y"}, Arguments{"--lines", "a"}}) {
    Arguments line = {"put", "--tube", "mail"};
    line.insert(line.end(), body.begin(), body.end());
    const ToolRun refused = run(line);
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("DRAINING: the tube 'mail' takes no more jobs"));
  }
  EXPECT_EQ(run({"drain", "--yes"}).code, 0);
  EXPECT_THAT(run({"put", "y"}).err, HasSubstr("DRAINING: the server takes no more jobs"));
}

TEST_F(PutWithOptions, NeverAndNoneAreWords) {
  const std::string id = put("x");
  EXPECT_THAT(run({"peek", id}).out, HasSubstr("expires in              never\n"));
  EXPECT_THAT(run({"stats", "--job", id}).out, HasSubstr("expires in              never\n"));
  EXPECT_THAT(run({"stats"}).out, HasSubstr("last checkpoint ago     none\n"));
}

TEST_F(PutWithOptions, AParkedJobIsNotSaidToBeTaken) {
  support::ClientSocket worker = server_.connect();
  EXPECT_EQ(*worker.ask("put 0 0 60 1 con:k\r\na\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(*worker.ask("put 0 0 60 1 con:k\r\nb\r\n"), "INSERTED 2\r\n");
  EXPECT_EQ(*worker.ask("reserve\r\n"), "RESERVED 1 1\r\na\r\n");
  const ToolRun refused = run({"bury", "2"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("job 2: is parked"));
}

TEST_F(PutWithOptions, LimitsHowManyJobsOfAKeyAreReserved) {
  for (const char* body : {"a", "b", "c"}) put(body, {"--tube", "mail", "--con", "anna:2"});
  EXPECT_EQ(job("1")["con"], "anna:2");
  EXPECT_EQ(job(put("x", {"--con", "ben"}))["con"], "ben:1");
  EXPECT_THAT(run({"tubes"}).out, Not(HasSubstr("PARKED")));
  support::ClientSocket worker = server_.connect();
  EXPECT_EQ(*worker.ask("watch mail\r\n"), "WATCHING 2\r\n");
  for (int id = 1; id <= 2; ++id)
    EXPECT_THAT(*worker.ask("reserve-job " + std::to_string(id) + "\r\n"), HasSubstr("RESERVED"));

  // Why no worker gets the third job.
  EXPECT_THAT(run({"tubes"}).out, ContainsRegex("TUBE +READY PARKED RESERVED .*\n"
                                                "default +1 +0 +0 .*\nmail +1 +1 +2 "));
  const nlohmann::json tubes = nlohmann::json::parse(run({"tubes", "--json"}).out);
  EXPECT_EQ(tubes[1]["current-jobs-parked"], 1);
  EXPECT_THAT(run({"stats"}).out, HasSubstr("  of them parked          1\n"));
  EXPECT_THAT(run({"stats", "--tube", "mail"}).out, HasSubstr("  of them parked          1\n"));
  for (const ToolRun& shown : {run({"peek", "3"}), run({"stats", "--job", "3"})}) {
    EXPECT_THAT(shown.out, HasSubstr("  parked                  true\n"));
    EXPECT_THAT(shown.out, HasSubstr("  concurrency key:jobs    anna:2\n"));
  }
  EXPECT_THAT(run({"peek", "1"}).out, HasSubstr("  parked                  false\n"));
  EXPECT_THAT(run({"list", "mail"}).out, HasSubstr("\n         3 parked "));
  const nlohmann::json list = nlohmann::json::parse(run({"list", "mail", "--json"}).out);
  EXPECT_EQ(list["jobs"][0]["parked"], false);
  EXPECT_EQ(list["jobs"][2]["parked"], true);
  EXPECT_EQ(list["jobs"][2]["state"], "ready");
}

TEST_F(PutWithOptions, AppliesThemToEachLine) {
  EXPECT_EQ(run({"put", "--lines", "--tries", "2"}, "a\nb\n").out, "1\n2\n");
  EXPECT_EQ(job("2")["tries"], 2);
}

// Such a server would answer BAD_FORMAT, and run the body as commands.
class PutToAServerWithoutOptions : public ToolAndServer {
 protected:
  explicit PutToAServerWithoutOptions(const std::string& settings = "extensions: none\n")
      : ToolAndServer(settings) {}

  void expect_refusals() {
    EXPECT_EQ(put("kept"), "1");
    for (const Arguments& flags : {Arguments{"--idp", "k"},
                                   {"--tries", "3"},
                                   {"--backoff", "1"},
                                   {"--dead", "t"},
                                   {"--expire", "5"},
                                   {"--con", "k"},
                                   {"--delay", "250ms"}}) {
      Arguments arguments = {"put", "delete 1"};
      arguments.insert(arguments.end(), flags.begin(), flags.end());
      const ToolRun refused = run(arguments);
      EXPECT_EQ(refused.code, 1);
      EXPECT_EQ(refused.out, "");
      EXPECT_THAT(refused.err, HasSubstr(server_.address() + " does not know '"));
      EXPECT_THAT(
          refused.err,
          HasSubstr("a beanstalkd or an older version, or its setting 'extensions' is 'none'"));
    }
    EXPECT_EQ(run({"peek", "1", "--body"}).out, "kept");
    // Whole seconds are known everywhere, however they are written.
    EXPECT_EQ(put("x", {"--delay", "5000ms", "--ttr", "60s"}), "2");
  }
};

TEST_F(PutToAServerWithoutOptions, IsRefused) {
  expect_refusals();
}

class PutToBeanstalkd : public PutToAServerWithoutOptions {
 protected:
  PutToBeanstalkd() : PutToAServerWithoutOptions({}) {
    server_.setup().program = Program::Beanstalkd;
  }
};

TEST_F(PutToBeanstalkd, IsRefused) {
  expect_refusals();
}

class PutToAServerWithFewOptions : public ToolAndServer {
 protected:
  PutToAServerWithFewOptions() : ToolAndServer("extensions: [batch, unique]\n") {}
};

TEST_F(PutToAServerWithFewOptions, NamesThoseThatItDoesNotAllow) {
  EXPECT_EQ(run({"put", "x", "--idp", "k"}).code, 0);
  const ToolRun refused = run({"put", "x", "--idp", "j", "--tries", "3", "--expire", "5"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("does not allow 'attempts' and 'expire'"));
}

}  // namespace
}  // namespace perennial::tool
