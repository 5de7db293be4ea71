#pragma once

#include <array>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "tests/support/ledger.h"
#include "tests/support/server_process.h"

namespace perennial::crash {

using support::Job;
using support::Ledger;
using support::Outcome;

enum class Verb { Put, Reserve, ReserveJob, Release, Bury, Touch, KickJob, Kick, Delete, Pause };
inline constexpr size_t verbs_count = 10;

// A command that was sent and not answered yet.
struct Sent {
  Verb verb;
  std::string line = {};  // As sent, without a body.
  Job* job = nullptr;     // Null for those that name none: reserve, kick, pause-tube.
  Outcome after = {};     // What becomes of the job if it is carried out.
  size_t tube = 0;
  uint32_t seconds = 0;           // Of a pause.
  std::vector<Job*> kicked = {};  // The jobs that a kick must move.
  bool may_miss = false;  // NOT_FOUND is a possible answer: somebody may have reserved the job.
};

// Random work from several connections, in one thread and one poll loop: the order in which replies
// are read is then the order of the ledger. Judges each reply as it comes.
class Load {
 public:
  Load(Ledger& ledger, std::minstd_rand& random) : ledger_(ledger), random_(random) {}

  // New connections to a server that has just been checked.
  Status open(const support::ServerProcess& server);
  Status run_for(int ms);
  // After the kill: reads what had left the server, then tells the ledger what was on its way.
  Status settle();

  // How many of each verb were carried out and acknowledged, in the order of Verb.
  const std::array<size_t, verbs_count>& done() const { return done_; }

 private:
  struct Connection {
    support::ClientSocket socket;
    std::deque<Sent> sent;
  };

  // Each fills one command, or reports that it found no job to aim at.
  bool choose(size_t index, Sent& out);
  bool choose_put(Sent& out);
  bool choose_holders(size_t index, Sent& out);
  bool choose_anyones(Sent& out);
  bool choose_kick(Sent& out);
  bool choose_pause(Sent& out);

  Status send_some(size_t index);
  Status send(size_t index, Sent sent);
  Status read_some(size_t index, int timeout_ms, bool& ended);
  Status reopen(size_t index);
  Status start(Connection& connection, size_t index);

  Status on_reply(size_t index, std::string_view reply);
  Status on_done(size_t index, const Sent& sent, std::string_view reply);
  Status on_reserved(size_t index, const Sent& sent, std::string_view reply);
  Status on_kicked(size_t index, const Sent& sent, std::string_view reply);
  void on_lost(const Sent& sent);

  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  uint32_t pick_delay();
  uint32_t pick_priority();
  template <typename Wanted>
  Job* pick_job(Wanted wanted);
  bool tube_is_quiet(size_t tube) const;
  std::vector<Job*> buried_jobs(size_t tube);

  Ledger& ledger_;
  std::minstd_rand& random_;
  std::vector<Connection> connections_;
  std::string address_;
  std::vector<Job*> present_;  // Every job that exists, and some that are gone.
  std::array<size_t, verbs_count> done_{};
};

}  // namespace perennial::crash
