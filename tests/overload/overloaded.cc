#include "tests/overload/overloaded.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <thread>

#include <fmt/format.h>

namespace perennial::overload {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto patience = std::chrono::seconds(60);
constexpr auto look_again = std::chrono::milliseconds(20);

double in_mib(uint64_t bytes) {
  return static_cast<double>(bytes) / static_cast<double>(mib);
}

}  // namespace

void Overloaded::start(const std::string& config) {
  std::ofstream(server_.dir() + "/perennial.yaml") << config;
  const Status started = server_.start();
  ASSERT_TRUE(started.ok()) << started.message();
}

void Overloaded::begin(bool puts_may_be_refused) {
  bytes_before_ = resident_bytes(server_.pid());
  const Status begun = probe_.start(server_.address(), puts_may_be_refused);
  ASSERT_TRUE(begun.ok()) << begun.message();
  gauge_.start(server_.pid());
}

void Overloaded::end(uint64_t slack_bytes) {
  const Probe::Seen& seen = probe_.stop();
  EXPECT_EQ(seen.wrong, "");
  EXPECT_GT(seen.rounds, 0u);
  const uint64_t peak = gauge_.stop();
  peak_bytes_ = peak - std::min(peak, bytes_before_);
  const uint64_t after = await_memory(bytes_before_ + slack_bytes);
  EXPECT_LE(after, bytes_before_ + slack_bytes);
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::cout << fmt::format(
      "{}: largest loop-lag {:.1f} ms; witness: {} rounds, {} puts refused, longest wait {:.1f} "
      "ms; resident MiB before {:.0f}, peak {:.0f}, after {:.0f}\n",
      test.name(), static_cast<double>(seen.largest_lag_us) / 1000, seen.rounds, seen.refused,
      static_cast<double>(seen.longest_wait_us) / 1000, in_mib(bytes_before_), in_mib(peak),
      in_mib(after));
}

void Overloaded::await(const std::string& key, uint64_t value) {
  const auto limit = Clock::now() + patience;
  uint64_t last = stats(key);
  while (last != value && Clock::now() < limit) {
    std::this_thread::sleep_for(look_again);
    last = stats(key);
  }
  EXPECT_EQ(last, value) << key;
}

uint64_t Overloaded::stats(const std::string& key) {
  const Result<std::string> reply = server_.connect().ask("stats\r\n", 60'000);
  EXPECT_TRUE(reply.ok()) << reply.status().message();
  return reply.ok() ? stat(*reply, key) : 0;
}

void Overloaded::await_steady_memory() {
  const auto limit = Clock::now() + patience;
  constexpr int looks = 15;
  uint64_t highest = 0;
  for (int steady = 0; steady < looks && Clock::now() < limit; ++steady) {
    const uint64_t bytes = resident_bytes(server_.pid());
    if (bytes > highest + mib) steady = 0;
    highest = std::max(highest, bytes);
    std::this_thread::sleep_for(look_again);
  }
}

uint64_t Overloaded::await_memory(uint64_t bytes_max) const {
  const auto limit = Clock::now() + patience;
  uint64_t bytes = resident_bytes(server_.pid());
  while (bytes > bytes_max && Clock::now() < limit) {
    std::this_thread::sleep_for(look_again);
    bytes = resident_bytes(server_.pid());
  }
  return bytes;
}

std::string put_of(size_t bytes) {
  return fmt::format("put 0 0 3600 {}\r\n{}\r\n", bytes, std::string(bytes, 'x'));
}

}  // namespace perennial::overload
