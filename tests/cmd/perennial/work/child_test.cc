#include "cmd/perennial/work/child.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

namespace perennial::tool::work {
namespace {

int exit_code_of(const std::string& script) {
  sigset_t none;
  sigemptyset(&none);
  Result<Child> child = Child::start(
      {.command = {"sh", "-c", script}, .environment = {"ADDED=1"}, .input = "", .signals = none});
  EXPECT_TRUE(child.ok());
  pollfd ended = {.fd = child->fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 30'000), 1);
  return child->reap().status;
}

// The commands of a worker may be anything, and have no right to the queue.
TEST(Child, GetsTheEnvironmentButNotTheToken) {
  ASSERT_EQ(setenv("PERENNIAL_TOKEN", "prn_k1_secret", 1), 0);
  ASSERT_EQ(setenv("PERENNIAL_TOKENS", "2", 1), 0);
  EXPECT_EQ(exit_code_of("test -z \"${PERENNIAL_TOKEN+there}\""), 0);
  EXPECT_EQ(exit_code_of("test \"$PERENNIAL_TOKENS$ADDED\" = 21"), 0);
  unsetenv("PERENNIAL_TOKEN");
  unsetenv("PERENNIAL_TOKENS");
}

}  // namespace
}  // namespace perennial::tool::work
