#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "tests/simulation/checker.h"

namespace perennial::simulation {

// Random clients. Each kind of command has a weight that is drawn once, and some are switched off,
// so that no two runs are alike.
class Clients {
 public:
  explicit Clients(uint64_t seed);

  // The next bytes of a client, given what clients know.
  std::string next(const Checker& checker, ConnId conn);
  // What looks at everything after a start: each job, each tube, and the sums. One command each,
  // to be answered before the next is sent.
  std::vector<std::string> audit(const Checker& checker);

 private:
  static constexpr size_t kinds = 20;

  uint64_t below(uint64_t bound) { return random_() % bound; }
  Command command(const Checker& checker, ConnId conn, std::string& body);
  std::string put(const Checker& checker, Put& put);
  JobId any_id(const Checker& checker);
  JobId held_id(const Checker& checker, ConnId conn);
  std::string tube();
  uint32_t delay();

  std::mt19937_64 random_;
  std::array<uint32_t, kinds> weights_{};
  uint64_t salt_;
};

}  // namespace perennial::simulation
