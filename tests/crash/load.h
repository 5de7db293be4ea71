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

enum class Verb {
  Put,
  Reserve,
  ReserveJob,
  Release,
  Bury,
  Touch,
  KickJob,
  Kick,
  Delete,
  Pause,
  Note
};
inline constexpr size_t verbs_count = 11;

// A command that was sent and is not answered yet.
struct Sent {
  Verb verb;
  std::string line = {};  // As sent, without the body.
  Job* job = nullptr;     // Null for commands that name no job: reserve, kick, pause-tube.
  bool changes = true;    // Whether the command changes what `after` says.
  Outcome after = {};     // The outcome for the job if the command is executed.
  size_t tube = 0;
  uint32_t seconds = 0;           // The seconds of a pause.
  std::vector<Job*> kicked = {};  // The jobs that a kick must move.
  // NOT_FOUND is a possible answer, because another client may have reserved the job.
  bool may_miss = false;
};

// Random work from several connections in one thread and one poll loop, so that replies are read in
// the order in which the ledger records them. Judges each reply as it arrives.
class Load {
 public:
  Load(Ledger& ledger, std::minstd_rand& random) : ledger_(ledger), random_(random) {}

  // Opens new connections to a server that was just checked.
  Status open(const support::ServerProcess& server);
  Status run_for(int ms);
  // Called after the kill. Reads what had left the server, then records the unanswered commands in
  // the ledger.
  Status drain_replies();

  // From now on some jobs are damaged. The load leaves them alone, and a reserve may meet one. It
  // kicks no longer, because the server buries those jobs at any time.
  void expect_damage() { expects_damage_ = true; }
  bool expects_damage() const { return expects_damage_; }
  // How often a reserve has met a damaged job.
  size_t damage_met() const { return damage_met_; }

  // The number of commands that were executed and acknowledged, in the order of Verb.
  const std::array<size_t, verbs_count>& done() const { return done_; }

 private:
  struct Connection {
    support::ClientSocket socket;
    std::deque<Sent> sent;
  };

  // Each function fills one command, or returns false if it found no suitable job.
  bool choose(size_t index, Sent& out);
  bool choose_put(Sent& out);
  bool choose_holders(size_t index, Sent& out);
  bool choose_anyones(Sent& out);
  bool choose_kick(Sent& out);
  bool choose_pause(Sent& out);
  bool choose_note(Sent& out);

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
  std::vector<Job*> present_;  // Every job that exists, and some that are deleted.
  std::array<size_t, verbs_count> done_{};
  bool expects_damage_ = false;
  size_t damage_met_ = 0;
};

}  // namespace perennial::crash
