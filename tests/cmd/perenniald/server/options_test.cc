#include "cmd/perenniald/server/options.h"

#include <optional>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

TEST(IoThreadCount, SuitsTheProcessorsUnlessItIsSet) {
  struct Case {
    std::optional<uint64_t> setting;
    unsigned processors;
    uint64_t wanted;
  };
  for (const auto& [setting, processors, wanted] :
       {Case{{}, 1, 0}, Case{{}, 2, 0}, Case{{}, 3, 1}, Case{{}, 4, 1}, Case{{}, 7, 1},
        Case{{}, 8, 2}, Case{{}, 16, 4}, Case{{}, 32, 8}, Case{{}, 256, 8}, Case{0, 64, 0},
        Case{3, 1, 3}}) {
    Config config;
    config.io_threads = setting;
    EXPECT_EQ(io_thread_count(config, processors), wanted) << processors;
  }
}

}  // namespace
}  // namespace perennial::perenniald
