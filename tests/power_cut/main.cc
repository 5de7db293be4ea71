#include <iostream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tests/power_cut/found.h"
#include "tests/power_cut/recorded.h"
#include "tests/support/seed.h"

namespace perennial::power_cut {
namespace {

std::string take_text(int argc, char** argv, std::string_view name) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (argv[i] == name) return argv[i + 1];
  }
  return {};
}

// For device_mapper_test.sh: compares a data directory with what was answered when the recording
// had `known` bytes, and with what was asked for when it had `begun` bytes.
int judge_directory(const std::string& data_dir, uint64_t known, uint64_t begun) {
  const Recorded& run = recorded();
  const Moment cut = {.known = run.recording.events_within(known),
                      .begun = run.recording.events_within(begun)};
  const Result<Found> found = read_store(data_dir);
  const std::string problem = found.ok() ? judge(run.history, cut, *found)
                                         : "the start is refused: " + found.status().message();
  std::cout << (problem.empty() ? std::to_string(found->jobs.size()) + " jobs, all as answered"
                                : problem)
            << std::endl;
  return problem.empty() ? 0 : 1;
}

}  // namespace
}  // namespace perennial::power_cut

// [--images N] [--seed N] [--recording FILE] and GoogleTest's flags; or
// --record FILE [--after-round PROGRAM]; or
// --judge DIRECTORY --recording FILE --known BYTES --begun BYTES.
int main(int argc, char** argv) {
  using perennial::power_cut::judge_directory;
  using perennial::power_cut::never;
  using perennial::power_cut::record_to;
  using perennial::power_cut::settings;
  using perennial::power_cut::take_text;
  using perennial::support::take_number;
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  settings().images = take_number(argc, argv, "--images", settings().images);
  settings().recording = take_text(argc, argv, "--recording");
  settings().after_round = take_text(argc, argv, "--after-round");
  if (const std::string file = take_text(argc, argv, "--record"); !file.empty()) {
    record_to(file);
    return 0;
  }
  if (const std::string directory = take_text(argc, argv, "--judge"); !directory.empty()) {
    return judge_directory(directory, take_number(argc, argv, "--known", 0),
                           take_number(argc, argv, "--begun", never));
  }
  return RUN_ALL_TESTS();
}
