#pragma once

#include <array>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/soak/book.h"
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

// A command that was sent and not answered yet.
struct Sent {
  Verb verb;
  std::string line = {};  // Without a body.
  Job* job = nullptr;     // For those that name one.
  size_t tube = 0;
  uint32_t seconds = 0;  // A delay.
  uint64_t number = 0;   // Of a kick: how many.

  // When it was sent, and what was known then.
  Millis at = 0;
  uint64_t event = 0;
  uint64_t version = 0;
  Millis until = 0;
  Counts counts = {};
};

// A hundred connections with every command by weights, in one thread and one poll loop, so that
// what the book says has one order. Each connection has at most one command on its way. Judges each
// reply as it comes: a Corruption is a reply that no right server gives.
class Load {
 public:
  Load(Book& book, uint64_t seed, size_t connections_count);

  // New connections to a server that has started.
  Status open(const std::string& address);
  // Sends what is due and reads what has come, for as long. `ended` once the server has closed.
  Status run_for(Millis ms, bool& ended);
  // After the server has ended: reads what had left it, then notes what was not answered.
  Status settle();
  // Lets all commands be answered, and closes. Fails when an answer does not come.
  Status finish();

  // Whether puts may be answered OUT_OF_MEMORY; true while the disk is full.
  void let_puts_be_refused(bool may) { refusals_allowed_ = may; }

  const std::array<uint64_t, verbs_count>& done() const { return done_; }
  uint64_t answers() const { return answers_; }
  uint64_t judged() const { return judged_; }
  // How often a job was reserved because another's time with it was over.
  uint64_t expired() const { return expired_; }
  // The latency that all but one in a hundred of the answers since the last call stayed below, in
  // milliseconds; commands that wait are left out.
  uint64_t take_p99_ms();

 private:
  struct Connection {
    support::ClientSocket socket;
    std::optional<Sent> sent;
    Millis next_at = 0;
    size_t used = 0;
    std::set<size_t> watched = {0};
    std::vector<Job*> held;  // Some of them no more: the book says.
  };

  // choose.cc
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

  // judge.cc
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

  Book& book_;
  std::minstd_rand random_;
  std::vector<Connection> connections_;
  std::string address_;
  bool refusals_allowed_ = false;
  std::array<uint64_t, verbs_count> done_{};
  uint64_t answers_ = 0;
  uint64_t judged_ = 0;  // Answers about a job whose state was known then.
  uint64_t expired_ = 0;
  std::vector<uint32_t> latencies_ms_;
};

}  // namespace perennial::soak
