#pragma once

#include <atomic>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tests/disk_full/client.h"

namespace perennial::disk_full {

// Many clients at once, each on a thread of its own.
class Clients {
 public:
  Clients(unsigned count, uint64_t seed);
  ~Clients() { stop(); }

  Status connect(const std::string& address);
  // Has them work until stop(), or until the server is gone.
  void start(const Work& work);
  void stop();
  // Has each look at all its jobs. `total` is how many jobs the server says that it has.
  Status check(uint64_t total);

  Status surprise() const;
  // REQUIRES: they are stopped.
  uint64_t refused_puts() const;
  uint64_t steps_done() const;
  uint64_t count(Fate fate) const;

 private:
  std::deque<Client> clients_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace perennial::disk_full
