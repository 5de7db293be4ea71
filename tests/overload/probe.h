#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "engine/types/status.h"
#include "tests/support/client_socket.h"
#include "tests/support/reply_text.h"

namespace perennial::overload {

// An ordinary client that must be served while others misbehave. Every few milliseconds it puts a
// job into its own tube, reserves and deletes it, and checks each answer. It also records the
// longest turn of the server's loop.
class Probe {
 public:
  // What the probe observed. The times are for people to read.
  struct Seen {
    uint64_t rounds = 0;
    uint64_t refused = 0;  // Puts that were answered OUT_OF_MEMORY.
    uint64_t longest_wait_us = 0;
    uint64_t largest_lag_us = 0;
    std::string wrong = {};  // The first answer that no correct server gives.
  };

  ~Probe() { (void)stop(); }

  // `may_be_refused` says whether puts may be answered OUT_OF_MEMORY.
  Status start(const std::string& address, bool may_be_refused);
  // Stops the probe and returns what it observed. A second call returns the same.
  const Seen& stop();

 private:
  void work();
  bool round();
  bool expect(std::string_view line, std::string_view wanted);
  bool ask(std::string_view line, std::string& reply);
  bool look();

  support::ClientSocket socket_;
  bool may_be_refused_ = false;
  Seen seen_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

// The number of a key in a reply to stats, or 0 if the key is missing.
inline uint64_t stat(std::string_view stats, std::string_view key) {
  return support::yaml_number(stats, key, 0);
}

}  // namespace perennial::overload
