#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/seed.h"
#include "tests/wire/describe.h"
#include "wire/parser.h"

// Any split of the bytes gives the same commands.
namespace perennial::wire {
namespace {

using Random = std::mt19937_64;

size_t below(Random& random, size_t limit) {
  return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
}

// The parts of random conversations. Any sequence of them is a conversation.
const std::vector<std::string> phrases = {
    "put 1 2 3 5\r\nhello\r\n",
    "put 0 0 1 0\r\n\r\n",
    "put 0 0 1 4\r\n\r\n\r\n\r\n",
    "put 0 0 1 20\r\n12345678901234567890\r\n",
    "put 0 0 1 21\r\n123456789012345678901\r\n",
    "put 0 0 1 3\r\nabcde",
    "put 0 0 1 3\r\nabc\r\r",
    "put 0 0 1 2 \r\n",
    "put x\r\n",
    "reserve\r\n",
    "reserve-with-timeout 0\r\n",
    "delete 12\r\n",
    "release 1 2 3\r\n",
    "kick -1\r\n",
    "pause-tubedefault 0\r\n",
    "stats\r\n",
    "nonsense\r\n",
    "\r\n",
    "\r",
    "\n",
    std::string("\0", 1),
    "bare\rcr\r\n",
    "use " + std::string(200, 'u') + "\r\n",
    std::string(222, 'l') + "\r\n",
    std::string(223, 'l') + "\r\n",
    std::string(224, 'l') + "\r\n",
    std::string(446, 'l') + "\r\n",
    std::string(447, '\r') + "\n",
};

constexpr uint32_t job_bytes_max = 20;

std::string conversation(Random& random, size_t length) {
  std::string bytes;
  for (size_t i = 0; i < length; ++i) bytes += phrases[below(random, phrases.size())];
  return bytes;
}

std::vector<std::string_view> split_randomly(Random& random, std::string_view bytes) {
  const size_t piece_max = 1 + below(random, 300);
  std::vector<std::string_view> pieces;
  while (!bytes.empty()) {
    const size_t size = std::min(bytes.size(), 1 + below(random, piece_max));
    pieces.push_back(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return pieces;
}

TEST(Split, ASplitAtAnyPositionGivesTheSameCommands) {
  Random random(support::seed());
  for (int round = 0; round < 20; ++round) {
    const std::string bytes = conversation(random, 10);
    const std::vector<std::string> want = describe_all({bytes}, job_bytes_max);
    const std::string_view view = bytes;
    for (size_t split = 1; split < view.size(); ++split) {
      ASSERT_EQ(describe_all({view.substr(0, split), view.substr(split)}, job_bytes_max), want)
          << "round " << round << ", split at " << split;
    }
  }
}

TEST(Split, RandomPiecesGiveTheSameCommands) {
  Random random(support::seed());
  for (int round = 0; round < 2000; ++round) {
    const std::string bytes = conversation(random, 1 + below(random, 40));
    const std::vector<std::string> want = describe_all({bytes}, job_bytes_max);
    ASSERT_EQ(describe_all(split_randomly(random, bytes), job_bytes_max), want)
        << "round " << round;
  }
}

// Where a token may be among them.
TEST(Split, WhatIsHeldMayBeWipedAfterEachCommand) {
  Random random(support::seed());
  for (int round = 0; round < 500; ++round) {
    const std::string bytes = conversation(random, 1 + below(random, 40));
    const std::vector<std::string_view> pieces = split_randomly(random, bytes);
    Parser wiped(job_bytes_max);
    Parser kept(job_bytes_max);
    for (std::string_view rest : pieces) {
      while (!rest.empty()) {
        const Step one = wiped.feed(rest);
        const Step other = kept.feed(rest);
        ASSERT_EQ(one.consumed, other.consumed);
        ASSERT_EQ(one.command.has_value(), other.command.has_value()) << "round " << round;
        if (one.command) {
          ASSERT_EQ(describe(*one.command, one.body.view()),
                    describe(*other.command, other.body.view()))
              << "round " << round;
          wiped.wipe_line();
        }
        rest.remove_prefix(one.consumed);
      }
    }
  }
}

}  // namespace
}  // namespace perennial::wire
