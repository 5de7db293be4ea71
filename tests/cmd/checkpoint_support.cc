#include "tests/cmd/checkpoint_support.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>
#include <unistd.h>

namespace perennial::support {
namespace {

// What stands behind "key: " on a line of its own, without quotes.
std::string value_of(std::string_view yaml, std::string_view key) {
  const std::string start = "\n" + std::string(key) + ": ";
  const size_t found = yaml.find(start);
  if (found == std::string_view::npos) return "";
  const size_t at = found + start.size();
  std::string_view value = yaml.substr(at, yaml.find('\n', at) - at);
  if (value.starts_with('"')) value = value.substr(1, value.size() - 2);
  return std::string(value);
}

uint64_t number_of(std::string_view yaml, std::string_view key) {
  return std::strtoull(value_of(yaml, key).c_str(), nullptr, 10);
}

}  // namespace

CheckpointAnswer parse_checkpoint_answer(const Result<std::string>& reply) {
  if (!reply.ok()) return {.text = "no answer: " + reply.status().message()};
  return {.text = *reply,
          .ok = reply->starts_with("OK "),
          .name = value_of(*reply, "name"),
          .path = value_of(*reply, "path"),
          .commit = number_of(*reply, "commit"),
          .jobs = number_of(*reply, "jobs")};
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

std::vector<std::string> half_made_in(const std::string& dir) {
  std::vector<std::string> names = names_in(dir);
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".partial"); });
  return names;
}

void wait_for_half_made(const std::string& dir) {
  for (int tries = 0; half_made_in(dir).empty(); ++tries) {
    ASSERT_LT(tries, 600'000) << "no checkpoint is being made";
    usleep(100);
  }
}

std::string stats_value(ClientSocket& client, std::string_view key) {
  const Result<std::string> stats = client.ask("stats\r\n");
  EXPECT_TRUE(stats.ok());
  return stats.ok() ? value_of(*stats, key) : "";
}

}  // namespace perennial::support
