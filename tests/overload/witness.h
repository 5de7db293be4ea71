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

// An ordinary client that is served while others misbehave: every few milliseconds it puts a job
// into a tube of its own, reserves it, deletes it, and checks each answer. On the side it notes the
// longest turn of the server's loop.
class Witness {
 public:
  // What it saw. Times are only for a person to read.
  struct Seen {
    uint64_t rounds = 0;
    uint64_t refused = 0;  // Of its puts: OUT_OF_MEMORY.
    uint64_t longest_wait_us = 0;
    uint64_t largest_lag_us = 0;
    std::string wrong = {};  // The first answer that no right server gives.
  };

  ~Witness() { (void)stop(); }

  // `may_be_refused`: whether its puts may be answered OUT_OF_MEMORY.
  Status start(const std::string& address, bool may_be_refused);
  // Ends it, and tells what it saw. Once more: the same.
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

// The number behind a key of a reply to stats; 0 if it is not there.
inline uint64_t stat(std::string_view stats, std::string_view key) {
  return support::yaml_number(stats, key, 0);
}

}  // namespace perennial::overload
