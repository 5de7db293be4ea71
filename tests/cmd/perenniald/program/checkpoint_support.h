#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/checkpoint/checkpoint.h"
#include "tests/support/client_socket.h"

// What the tests of checkpoints on a real server share.
namespace perennial::support {

inline constexpr int checkpoint_timeout_ms = 60'000;

// An answer to checkpoint.
struct CheckpointAnswer {
  std::string text = {};  // All of it.
  bool ok = false;
  std::string name = {};
  std::string path = {};
  uint64_t commit = 0;
  uint64_t jobs = 0;
};
CheckpointAnswer parse_checkpoint_answer(const Result<std::string>& reply);
CheckpointAnswer ask_checkpoint(ClientSocket& client);

// The names in a directory, sorted; none if it is not there.
std::vector<std::string> names_in(const std::string& dir);
// Those that are half-made.
std::vector<std::string> half_made_in(const std::string& dir);
// Waits until one is being made there. Fails the test when none comes in a minute.
void wait_for_half_made(const std::string& dir);

// The value of a key of stats.
std::string stats_value(ClientSocket& client, std::string_view key);

}  // namespace perennial::support
