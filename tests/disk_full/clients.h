#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tests/disk_full/client.h"

namespace perennial::disk_full {

// Many clients at once, each on its own thread.
class Clients {
 public:
  Clients(unsigned count, uint64_t seed);
  ~Clients() { stop(); }

  Status connect(const std::string& address);
  // Runs the clients until stop(), or until the server has ended.
  void start(const Work& work);
  void stop();
  // Makes each client check all its jobs. `total` is the number of jobs that the server reports.
  Status check(uint64_t total);

  Status surprise() const;
  // REQUIRES: the clients are stopped.
  uint64_t refused_puts() const;
  uint64_t steps_done() const;
  uint64_t count(Outcome outcome) const;

 private:
  std::deque<Client> clients_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace perennial::disk_full
