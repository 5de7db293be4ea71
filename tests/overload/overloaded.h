#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/overload/crowd.h"
#include "tests/overload/process_memory.h"
#include "tests/overload/sizes.h"
#include "tests/overload/witness.h"
#include "tests/support/server_process.h"

namespace perennial::overload {

constexpr uint64_t mib = uint64_t{1} << 20;

// A server under a load that no client should make, and a witness who is served all the same.
class Overloaded : public testing::Test {
 protected:
  // Starts the server with these lines of configuration.
  void start(const std::string& config = {});
  // From here on the load counts.
  void begin(bool puts_may_be_refused = false);
  // The load is over. The witness must have been served, rightly, and memory must come down to at
  // most `slack_bytes` above what it was at begin(). Prints what was measured.
  void end(uint64_t slack_bytes);
  // Until stats say so of this key; a failure if they do not in time.
  void await(const std::string& key, uint64_t value);
  uint64_t stats(const std::string& key);
  // Until the server's memory grows no more.
  void await_steady_memory();

  support::ServerProcess server_{{.flags = {"--config", "perennial.yaml"}}};
  Witness witness_;
  MemoryGauge gauge_;
  Crowd crowd_;
  uint64_t bytes_before_ = 0;
  uint64_t peak_bytes_ = 0;  // Above bytes_before_; after end().

 private:
  uint64_t await_memory(uint64_t bytes_max) const;
};

// A put with a body of so many x.
std::string put_of(size_t bytes);

}  // namespace perennial::overload
