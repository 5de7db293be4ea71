#pragma once

#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/soak/job_ledger.h"
#include "tests/support/server_process.h"

namespace perennial::soak {

// clang-format off
enum class Verb : uint8_t {
  Put, Reserve, ReserveWait, ReserveJob, Delete, Release, Bury, Touch, KickJob, Kick,
  Peek, PeekReady, PeekDelayed, PeekBuried, StatsJob, StatsTube, Stats,
  ListTubes, ListTubeUsed, ListTubesWatched, Use, Watch, Ignore, Pause,
};
// clang-format on
inline constexpr size_t verbs_count = static_cast<size_t>(Verb::Pause) + 1;
std::string_view verb_name(Verb verb);

// A command that was sent and is not answered yet.
struct Sent {
  Verb verb;
  std::string line = {};  // Without the body.
  Job* job = nullptr;     // Null for commands that name no job.
  size_t tube = 0;
  uint32_t seconds = 0;  // The delay.
  uint64_t number = 0;   // For a kick: the number of jobs.

  // When the command was sent, and what was known then.
  Millis at = 0;
  uint64_t event = 0;
  uint64_t version = 0;
  Millis until = 0;
  Counts counts = {};
};

// A hundred connections that send every command by weights, in one thread and one poll loop, so
// that the facts of the ledger have one order. Each connection has at most one command in flight.
// Each reply is judged as it arrives: Corruption means a reply that no correct server sends.
class Load {
 public:
  Load(JobLedger& ledger, uint64_t seed, size_t connections_count);

  // Opens new connections to a server that has started.
  Status open(const std::string& address);
  // Sends what is due and reads what has arrived for this time. `ended` is set once the server has
  // closed.
  Status run_for(Millis ms, bool& ended);
  // Called after the server has ended. Reads what it had sent, then records which commands were not
  // answered.
  Status drain_replies();
  // Waits for all answers and closes. Fails if an answer does not arrive.
  Status finish();

  // Whether puts may be answered OUT_OF_MEMORY, which is true while the disk is full.
  void let_puts_be_refused(bool may) { refusals_allowed_ = may; }

  const std::array<uint64_t, verbs_count>& done() const { return done_; }
  uint64_t answers() const { return answers_; }
  uint64_t judged() const { return judged_; }
  // The number of jobs that were reserved because another reservation timed out.
  uint64_t expired() const { return expired_; }
  // The 99th percentile of the latencies since the last call, in milliseconds, without commands
  // that wait.
  uint64_t take_p99_ms();

 private:
  struct Connection {
    support::ClientSocket socket;
    std::optional<Sent> sent;
    Millis next_at = 0;
    size_t used = 0;
    std::set<size_t> watched = {0};
    std::vector<Job*> held;  // Some may no longer be held: the ledger is authoritative.
  };

  // Defined in choose.cc.
  Status start(size_t index);
  Status step(size_t index);
  Status send(size_t index, Sent sent);
  bool choose(size_t index, Sent& out);
  bool choose_put(size_t index, Sent& out);
  bool choose_held(size_t index, Sent& out);
  bool choose_any(Sent& out);
  bool choose_tube(size_t index, Sent& out);
  void choose_plain(Sent& out);
  Status close(size_t index);
  Job* pick_held(Connection& connection, int index);
  Job* pick_any();
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

  // Defined in judge.cc.
  Status on_reply(size_t index, std::string_view reply);
  Status judge(size_t index, const Sent& sent, std::string_view reply);
  Status judge_put(const Sent& sent, std::string_view reply);
  Status judge_reserve(size_t index, const Sent& sent, std::string_view reply);
  Status judge_reserved(size_t index, const Sent& sent, std::string_view reply);
  Status judge_delete(size_t index, const Sent& sent, bool done);
  Status judge_held(size_t index, const Sent& sent, bool done);
  Status judge_kick_job(const Sent& sent, bool done);
  Status judge_peek(size_t index, const Sent& sent, std::string_view reply);
  Status judge_stats_job(const Sent& sent, std::string_view reply);
  Status judge_stats(const Sent& sent, std::string_view reply);
  Status judge_tubes(size_t index, const Sent& sent, std::string_view reply);
  Status expect(bool right, const Sent& sent, std::string_view reply);
  void on_lost(const Sent& sent);
  Status check_waits();

  JobLedger& ledger_;
  std::minstd_rand random_;
  std::vector<Connection> connections_;
  std::string address_;
  bool refusals_allowed_ = false;
  std::array<uint64_t, verbs_count> done_{};
  uint64_t answers_ = 0;
  uint64_t judged_ = 0;  // Answers about jobs whose state was known.
  uint64_t expired_ = 0;
  std::vector<uint32_t> latencies_ms_;
};

}  // namespace perennial::soak
