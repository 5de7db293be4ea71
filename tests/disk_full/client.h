#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "tests/support/client_socket.h"

namespace perennial::disk_full {

// What a client knows about one of its jobs. A command that was sent and not answered leaves the
// job in doubt.
enum class Outcome : uint8_t { PutInDoubt, Present, DeleteInDoubt, Gone };

struct Job {
  JobId id = 0;  // 0 until a reply has named it.
  Outcome outcome = Outcome::PutInDoubt;
};

// The mix of commands: the percentage of puts, and whether the other commands delete jobs or only
// change their states.
struct Work {
  unsigned puts_in_100 = 0;
  bool deletes = true;
};

// A worker with its own tube, so that no other client changes its jobs. It remembers every answer
// and has one command in flight at a time.
class Client {
 public:
  Client(unsigned number, uint64_t seed);

  Status connect(const std::string& address);
  // Executes one command. Returns false once the server has ended, or after an unexpected answer.
  bool step(const Work& work);
  // Compares every job with what is known after a restart, and resolves the jobs in doubt.
  void check();

  // The first answer that no correct server gives, or an empty string.
  const std::string& surprise() const { return surprise_; }
  uint64_t refused_puts() const { return refused_puts_; }
  uint64_t steps_done() const { return steps_done_; }
  uint64_t count(Outcome outcome) const;

 private:
  bool put();
  // Reserves a job, and deletes, releases or buries it.
  bool reserve_and(std::string_view verb);
  bool remove(Job& job);
  bool kick();
  // Sends a line and reads the reply. Returns false when the server has ended.
  bool ask(const std::string& line, std::string& reply);
  bool expect(const std::string& line, std::string_view wanted);
  bool be_surprised(std::string_view line, std::string_view reply);

  Job* job_of(JobId id, std::string_view body);
  std::string body_of(size_t serial) const;
  void check_one(size_t serial, std::string_view reply);

  const unsigned number_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  support::ClientSocket socket_;
  std::vector<Job> jobs_;  // Indexed by serial, with which each body begins.
  std::unordered_map<JobId, size_t> serials_;
  std::string surprise_;
  uint64_t refused_puts_ = 0;
  uint64_t steps_done_ = 0;
};

}  // namespace perennial::disk_full
