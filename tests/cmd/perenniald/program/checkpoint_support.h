#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/checkpoint/checkpoint.h"
#include "tests/support/client_socket.h"

// Helpers for tests of checkpoints on a real server.
namespace perennial::support {

inline constexpr int checkpoint_timeout_ms = 60'000;

// The answer to a checkpoint command.
struct CheckpointAnswer {
  std::string text = {};  // The whole answer.
  bool ok = false;
  std::string name = {};
  std::string path = {};
  uint64_t commit = 0;
  uint64_t jobs = 0;
};
CheckpointAnswer parse_checkpoint_answer(const Result<std::string>& reply);
CheckpointAnswer ask_checkpoint(ClientSocket& client);

// The names in a directory, sorted; none if it does not exist.
std::vector<std::string> names_in(const std::string& dir);
// The names of partial checkpoints.
std::vector<std::string> partial_in(const std::string& dir);
// Waits until a checkpoint is being made there. Fails the test when none begins within a minute.
void wait_for_partial(const std::string& dir);

// The value of a key of stats.
std::string stats_value(ClientSocket& client, std::string_view key);

}  // namespace perennial::support
