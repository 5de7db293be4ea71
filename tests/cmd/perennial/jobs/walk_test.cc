// perennial flush, perennial move, perennial undrain and peek --reserved, on a perenniald.

#include <string>

#include <fmt/format.h>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::ToolRun;
using testing::HasSubstr;

class Walk : public ToolAndServer {
 protected:
  // One delayed, one buried, one reserved and one ready job, in the order of their ids.
  void put_one_in_each_state() {
    put("d", {"--tube", "mail", "--delay", "100"});
    put("b", {"--tube", "mail"});
    EXPECT_EQ(run({"bury", "2"}).code, 0);
    put("x", {"--tube", "mail"});
    worker_ = server_.connect();
    EXPECT_EQ(*worker_.ask("watch mail\r\n"), "WATCHING 2\r\n");
    EXPECT_EQ(*worker_.ask("reserve\r\n"), "RESERVED 3 1\r\nx\r\n");
    put("r", {"--tube", "mail"});
  }

  support::ClientSocket worker_;
};

TEST_F(Walk, FlushDeletesAllJobs) {
  put_one_in_each_state();
  EXPECT_EQ(run({"flush", "mail", "--yes"}).out, "mail: deleted 4 jobs\n");
  EXPECT_EQ(*worker_.ask("delete 3\r\n"), "NOT_FOUND\r\n");
}

TEST_F(Walk, FlushDeletesOnlyTheStatesThatAreAskedFor) {
  put_one_in_each_state();
  EXPECT_EQ(run({"flush", "mail", "--state", "buried,delayed", "--yes"}).out,
            "mail: deleted 2 jobs\n");
  EXPECT_EQ(*worker_.ask("delete 3\r\n"), "DELETED\r\n");
  EXPECT_EQ(job("4")["state"], "ready");
}

TEST_F(Walk, MoveMakesJobsReadyInTheOtherTube) {
  put_one_in_each_state();
  EXPECT_EQ(run({"move", "mail", "other", "--state", "buried,ready", "--count", "1", "--yes"}).out,
            "mail: moved 1 jobs to other\n");
  EXPECT_EQ(job("2")["state"], "ready");
  EXPECT_EQ(job("2")["tube"], "other");
  EXPECT_EQ(run({"move", "mail", "other", "--yes"}).out, "mail: moved 2 jobs to other\n");
  EXPECT_EQ(job("1")["state"], "ready");
  EXPECT_EQ(job("3")["tube"], "mail");
}

TEST_F(Walk, FlushDeletesOnlyWhatMatches) {
  put_one_in_each_state();
  EXPECT_EQ(run({"flush", "mail", "--match", "reserves=1-", "--yes"}).out,
            "mail: deleted 2 jobs\n");
  EXPECT_EQ(*worker_.ask("delete 3\r\n"), "NOT_FOUND\r\n");
  EXPECT_EQ(job("1")["state"], "delayed");
  EXPECT_THAT(run({"flush", "mail", "--match", "reserves=5-3"}).err, HasSubstr("is no list of"));
}

TEST_F(Walk, MoveTakesOnlyWhatMatches) {
  put_one_in_each_state();
  EXPECT_EQ(run({"move", "mail", "other", "--match", "reserves=0", "--yes"}).out,
            "mail: moved 2 jobs to other\n");
  EXPECT_EQ(job("2")["tube"], "mail");
}

TEST_F(Walk, KickTakesAllOrWhatMatches) {
  put_one_in_each_state();
  EXPECT_EQ(run({"kick", "--tube", "mail", "--match", "age=3600-", "--yes"}).out,
            "kicked 0 jobs\n");
  EXPECT_EQ(run({"kick", "--tube", "mail", "--state", "delayed", "--yes"}).out, "kicked 1 jobs\n");
  EXPECT_EQ(job("1")["state"], "ready");
  EXPECT_EQ(job("2")["state"], "buried");
  EXPECT_EQ(run({"kick", "--tube", "mail", "--all", "--yes"}).out, "kicked 1 jobs\n");
  EXPECT_EQ(job("2")["state"], "ready");
  EXPECT_THAT(run({"kick", "--tube", "nowhere", "--all"}).err, HasSubstr("no tube 'nowhere'"));
}

TEST_F(Walk, PeekFindsTheReservedJob) {
  EXPECT_THAT(run({"peek", "--reserved", "--tube", "mail"}).err, HasSubstr("has no reserved job"));
  put_one_in_each_state();
  EXPECT_EQ(run({"peek", "--reserved", "--tube", "mail", "--body"}).out, "x");
}

TEST_F(Walk, UndrainEndsADrain) {
  EXPECT_EQ(run({"drain", "--yes"}).code, 0);
  EXPECT_EQ(run({"put", "x"}).code, 1);
  EXPECT_EQ(run({"undrain"}).out, server_.address() + " takes jobs\n");
  EXPECT_EQ(run({"put", "x"}).code, 0);
}

TEST_F(Walk, ATubeMustExist) {
  for (const ToolRun& none : {run({"flush", "nowhere"}), run({"move", "nowhere", "mail"})}) {
    EXPECT_EQ(none.code, 1);
    EXPECT_THAT(none.err, HasSubstr("there is no tube 'nowhere'"));
  }
}

class WalkOnAServerWithoutAdmins : public ToolAndServer {
 protected:
  WalkOnAServerWithoutAdmins() : ToolAndServer("admin_on: none\n") {}
};

TEST_F(WalkOnAServerWithoutAdmins, IsDenied) {
  put("x", {"--tube", "mail"});
  for (const ToolRun& refused :
       {run({"flush", "mail", "--yes"}), run({"move", "mail", "other", "--yes"}),
        run({"set", "tube", "mail", "--tries", "3"}), run({"undrain"})}) {
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("DENIED: the server's setting 'admin_on'"));
  }
  EXPECT_EQ(run({"set", "job", "1", "--pri", "3"}).code, 0);
}

class WalkOnBeanstalkd : public ToolAndServer {
 protected:
  WalkOnBeanstalkd() { server_.setup().program = support::Program::Beanstalkd; }
};

TEST_F(WalkOnBeanstalkd, IsNotKnown) {
  put("x");
  const auto refusal = [this](std::vector<std::string> arguments) {
    const ToolRun refused = run(std::move(arguments));
    EXPECT_EQ(refused.code, 1);
    return refused.err;
  };
  EXPECT_THAT(refusal({"list", "default"}), HasSubstr("does not know 'list-jobs'"));
  EXPECT_THAT(refusal({"flush", "default"}), HasSubstr("does not know 'flush-tube'"));
  EXPECT_THAT(refusal({"kick", "--tube", "default", "--all"}),
              HasSubstr("does not know 'kick-tube'"));
  EXPECT_THAT(refusal({"undrain"}), HasSubstr("does not know 'drain'"));
  EXPECT_THAT(refusal({"peek", "--reserved"}), HasSubstr("does not know 'peek-reserved'"));
  EXPECT_THAT(refusal({"move", "default", "t"}), HasSubstr("does not know 'move-tube'"));
  EXPECT_THAT(refusal({"set", "job", "1", "--pri", "3"}), HasSubstr("does not know 'set-job'"));
  EXPECT_THAT(refusal({"set", "tube", "t", "--rate", "1:1"}),
              HasSubstr("does not know 'set-tube' and 'tube-limits'"));
  EXPECT_EQ(job("1")["state"], "ready");
}

}  // namespace
}  // namespace perennial::tool
