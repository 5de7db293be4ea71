// What libraries would abort for: the process ends with an exit code and a line in the log.

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;

class Abort : public testing::Test {
 protected:
  Launch::Setup failing(const std::string& calls) const {
    return {.flags = {"-b", "data", "-l", "unix:s"},
            .variables = {{"LD_PRELOAD", FAILING_CALLS},
                          {"FAILING_CALLS", calls},
                          {"FAILING_IF", dir_.path() + "/fail"}}};
  }
  void let_fail() const { std::ofstream(dir_.path() + "/fail") << ""; }
  void expect_end(Launch& server, int code, const std::string& line) const {
    const Ended ended = server.wait();
    EXPECT_EQ(ended.signal, 0) << server.stderr_text();
    EXPECT_EQ(ended.code, code) << server.stderr_text();
    EXPECT_THAT(server.stderr_text(), HasSubstr(line));
  }

  const TempDir dir_;
};

TEST_F(Abort, AThreadThatCannotBeMadeEndsWith71) {
  let_fail();
  Launch server(dir_.path(), failing("pthread_create"));
  expect_end(server, 71, "at=start.thread exit=71 error=\"no thread can be made");
}

TEST_F(Abort, ASystemCallThatRocksDbAssertsEndsWith74) {
  for (const char* const call : {"fstatfs", "sync_file_range"}) {
    SCOPED_TRACE(call);
    let_fail();
    Launch server(dir_.path(), failing(call));
    expect_end(server, 74, "at=store.failed exit=74 error=\"");
  }
}

TEST_F(Abort, ASystemCallThatFailsLaterEndsWith74) {
  for (const char* const call : {"fstatfs", "sync_file_range"}) {
    SCOPED_TRACE(call);
    std::remove((dir_.path() + "/fail").c_str());
    Launch server(dir_.path(), failing(call));
    const Result<ClientSocket> client = server.connect("unix:" + dir_.path() + "/s");
    ASSERT_TRUE(client.ok()) << client.status().message();
    let_fail();
    server.signal(SIGTERM);  // A stop flushes, which makes tables.
    expect_end(server, 74, " exit=74 error=\"");
  }
}

}  // namespace
}  // namespace perennial::support
