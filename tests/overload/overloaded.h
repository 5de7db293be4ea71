#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/overload/crowd.h"
#include "tests/overload/probe.h"
#include "tests/overload/process_memory.h"
#include "tests/overload/sizes.h"
#include "tests/support/server_process.h"

namespace perennial::overload {

constexpr uint64_t mib = uint64_t{1} << 20;

// A server under a load that no client should cause, and a probe that must be served all the same.
class Overloaded : public testing::Test {
 protected:
  // Starts the server with these lines of configuration.
  void start(const std::string& config = {});
  // Starts the probe and the measurement.
  void begin(bool puts_may_be_refused = false);
  // Ends the measurement. The probe must have received correct answers, and memory must fall to at
  // most `slack_bytes` above its size at begin(). Prints what was measured.
  void end(uint64_t slack_bytes);
  // Waits until stats report this value. Fails the test if they do not in time.
  void await(const std::string& key, uint64_t value);
  uint64_t stats(const std::string& key);
  // Waits until the server's memory stops growing.
  void await_steady_memory();

  support::ServerProcess server_{{.flags = {"--config", "perennial.yaml"}}};
  Probe probe_;
  MemoryGauge gauge_;
  Crowd crowd_;
  uint64_t bytes_before_ = 0;
  uint64_t peak_bytes_ = 0;  // Above bytes_before_, valid after end().

 private:
  uint64_t await_memory(uint64_t bytes_max) const;
};

// A put whose body is this many x.
std::string put_of(size_t bytes);

}  // namespace perennial::overload
