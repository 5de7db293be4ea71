#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/support/ledger.h"

// What the soak test knows about each job. support::Ledger holds bodies and ids; this class holds
// the possible states. Replies of a hundred connections are read in another order than the server
// sent them, and time changes jobs, too. A fact therefore says what must be true until some moment
// or event.
namespace perennial::soak {

using support::Job;
using Millis = int64_t;  // On the steady clock.

Millis now_ms();

// How far the server's clock may lag behind the time at which a client sent a command, in
// milliseconds. The server reads its clock once a turn. Only a larger difference is an error.
inline constexpr Millis clock_slack_ms = 1'500;

// Loose: the job exists in an unknown state. Unsure: its put was not answered.
enum class Place : uint8_t { Unsure, Ready, Delayed, Buried, Held, Loose, Gone };

struct Fact {
  Place place = Place::Unsure;
  bool may_be_gone = false;  // A delete was not answered.
  // Held through reserve-job: after a crash the job may be in its earlier state.
  bool by_id = false;
  int holder = -1;  // The connection, if Held.
  uint32_t ttr_s = 0;
  Millis until = 0;      // If Held or Delayed: the state does not time out before this.
  uint64_t asked = 0;    // The number of the event in which the command that caused this was sent,
  uint64_t since = 0;    // and of the event in which it was answered.
  uint64_t version = 0;  // Increased with each change.
};

struct Tube {
  unsigned kicks_in_flight = 0;
  uint64_t last_kick = 0;  // The number of the event in which the last kick was answered or lost.
};

// The counts of all such commands of a run. A command between sending and answer may have been
// executed.
struct Counts {
  uint64_t puts_sent = 0, puts_done = 0, puts_refused = 0;
  uint64_t deletes_sent = 0, deletes_done = 0, deletes_missed = 0;
};

class JobLedger {
 public:
  JobLedger(uint64_t seed, size_t tubes_count) : records_(seed), tubes_(tubes_count) {}

  Job& add(size_t tube, uint32_t ttr_s);
  Fact& fact(const Job& job) { return facts_[job.serial]; }
  Tube& tube(size_t index) { return tubes_[index]; }
  static std::string tube_name(size_t index);
  size_t tubes_count() const { return tubes_.size(); }
  support::Ledger& records() { return records_; }
  Counts& counts() { return counts_; }

  // Whether the job may be in this state, by what is known.
  bool may_be(const Job& job, JobState state);
  bool is_busy(const Job& job) const { return job.busy; }
  // Whether a kick of its tube may have been executed since the fact was established.
  bool kicked_since(const Job& job);

  // `asked` is the event in which the command that caused this was sent; 0 is the current one.
  void set(Job& job, Place place, int holder = -1, Millis until = 0, uint64_t asked = 0);
  // A reply has shown that the job exists, which confirms an unanswered put.
  void seen(Job& job);
  void note(Job& job, std::string line);
  uint64_t next_event() { return ++events_; }

  // The jobs that may exist. Deleted ones are removed on the way.
  std::deque<size_t>& present() { return present_; }
  Job& job(size_t serial) { return records_.jobs()[serial]; }

 private:
  support::Ledger records_;
  std::deque<Fact> facts_;  // Indexed by serial.
  std::vector<Tube> tubes_;
  std::deque<size_t> present_;
  Counts counts_;
  uint64_t events_ = 0;
};

std::string_view place_name(Place place);

}  // namespace perennial::soak
