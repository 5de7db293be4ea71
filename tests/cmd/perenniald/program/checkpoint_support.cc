#include "tests/cmd/perenniald/program/checkpoint_support.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/support/reply_text.h"

namespace perennial::support {

CheckpointAnswer parse_checkpoint_answer(const Result<std::string>& reply) {
  if (!reply.ok()) return {.text = "no answer: " + reply.status().message()};
  return {.text = *reply,
          .ok = reply->starts_with("OK "),
          .name = std::string(yaml_value(*reply, "name")),
          .path = std::string(yaml_value(*reply, "path")),
          .commit = yaml_number(*reply, "commit", 0),
          .jobs = yaml_number(*reply, "jobs", 0)};
}

CheckpointAnswer ask_checkpoint(ClientSocket& client) {
  return parse_checkpoint_answer(client.ask("checkpoint\r\n", checkpoint_timeout_ms));
}

std::vector<std::string> names_in(const std::string& dir) {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(dir, missing)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> partial_in(const std::string& dir) {
  std::vector<std::string> names = names_in(dir);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".partial"); });
  return names;
}

void wait_for_partial(const std::string& dir) {
  for (int tries = 0; partial_in(dir).empty(); ++tries) {
    ASSERT_LT(tries, 600'000) << "no checkpoint is being made";
    usleep(100);
  }
}

std::string stats_value(ClientSocket& client, std::string_view key) {
  const Result<std::string> stats = client.ask("stats\r\n");
  EXPECT_TRUE(stats.ok());
  return stats.ok() ? std::string(yaml_value(*stats, key)) : "";
}

}  // namespace perennial::support
