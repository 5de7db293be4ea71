#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>

#include "tests/simulation/checker.h"

namespace perennial::simulation {

// Random clients. The weight of each kind of command is drawn once and some kinds are switched off,
// so that runs differ.
class Clients {
 public:
  explicit Clients(uint64_t seed);

  // The next bytes that a client sends, given what clients know.
  std::string next(const Checker& checker, ConnId conn);
  // The commands that inspect everything after a start: each job, each tube and the sums. Each
  // command must be answered before the next one is sent.
  std::vector<std::string> audit(const Checker& checker);

 private:
  static constexpr size_t kinds = 28;

  uint64_t below(uint64_t bound) { return random_() % bound; }
  Command command(const Checker& checker, ConnId conn, std::string& body);
  std::string put(const Checker& checker, Put& put);
  NoteJob note(JobId id);
  SetTube keep(std::string name);
  RestoreTube restore_tube();
  JobId ended_id(const Checker& checker);
  JobId any_id(const Checker& checker);
  JobId held_id(const Checker& checker, ConnId conn);
  std::string tube();
  uint32_t delay();

  std::mt19937_64 random_;
  std::array<uint32_t, kinds> weights_{};
  uint64_t salt_;
  uint64_t notes_ = 0;  // How many were sent.
  JobId restored_ = 0;  // What the last restore-job named.
};

}  // namespace perennial::simulation
