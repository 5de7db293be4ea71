// Runs the transcripts that do not advance time on a real perenniald, each on its own server. With
// TRANSCRIPT_SERVER=beanstalkd those that need nothing of Core run on beanstalkd, to verify the
// expected replies.

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/server_process.h"
#include "tests/transcripts/cases.h"
#include "tests/transcripts/socket_driver.h"
#include "tests/transcripts/transcript.h"

namespace perennial::transcripts {
namespace {

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, OnAServer) {
  const Transcript transcript = read_transcript(GetParam());
  const char* const wanted = std::getenv("TRANSCRIPT_SERVER");
  const bool theirs = wanted != nullptr && std::string(wanted) == "beanstalkd";
  if (!transcript.fits_a_socket(theirs)) GTEST_SKIP() << "moves time or reaches into core";
  support::ServerProcess server(
      {.program = theirs ? support::Program::Beanstalkd : support::Program::Perenniald});
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  SocketDriver driver(server);
  run(transcript, driver);
}

INSTANTIATE_TEST_SUITE_P(All, Transcripts, testing::ValuesIn(transcript_paths()), case_name);

}  // namespace
}  // namespace perennial::transcripts
