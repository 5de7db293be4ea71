// Runs each transcript on Core with a fake clock. transcript.h describes the format.

#include <gtest/gtest.h>

#include "tests/transcripts/cases.h"
#include "tests/transcripts/core_driver.h"
#include "tests/transcripts/transcript.h"

namespace perennial::transcripts {
namespace {

class Transcripts : public testing::TestWithParam<std::string> {};

TEST_P(Transcripts, OnCore) {
  CoreDriver driver;
  run(read_transcript(GetParam()), driver);
}

INSTANTIATE_TEST_SUITE_P(All, Transcripts, testing::ValuesIn(transcript_paths()), case_name);

}  // namespace
}  // namespace perennial::transcripts
