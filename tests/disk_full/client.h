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

// What a client knows of one of its jobs. In doubt is what was sent and not answered.
enum class Fate : uint8_t { PutInDoubt, Present, DeleteInDoubt, Gone };

struct Job {
  JobId id = 0;  // 0 until a reply has named it.
  Fate fate = Fate::PutInDoubt;
};

// What clients do: how many of a hundred commands are puts, and whether the others use up or only
// move.
struct Work {
  unsigned puts_in_100 = 0;
  bool deletes = true;
};

// A worker with a tube of its own, so that nobody else touches its jobs, and with a memory of all
// that it was told. One command is on its way at a time.
class Client {
 public:
  Client(unsigned number, uint64_t seed);

  Status connect(const std::string& address);
  // One piece of work. False once the server is gone, or after a surprise.
  bool step(const Work& work);
  // After a restart: compares every job with what is known, and settles what can be.
  void check();

  // An answer that no right server gives; empty without.
  const std::string& surprise() const { return surprise_; }
  uint64_t refused_puts() const { return refused_puts_; }
  uint64_t steps_done() const { return steps_done_; }
  uint64_t count(Fate fate) const;

 private:
  bool put();
  // Reserves a job, and deletes, releases or buries it.
  bool reserve_and(std::string_view verb);
  bool remove(Job& job);
  bool kick();
  // Sends, and reads the reply. False when the server is gone.
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
  std::vector<Job> jobs_;  // By serial, which its body begins with.
  std::unordered_map<JobId, size_t> serials_;
  std::string surprise_;
  uint64_t refused_puts_ = 0;
  uint64_t steps_done_ = 0;
};

}  // namespace perennial::disk_full
