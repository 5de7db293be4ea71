#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "tests/support/ledger.h"

// What the soak test knows. Whose body and which id: support::Ledger. What may have become of each
// job: here. Replies of a hundred connections are read in another order than the server gave them,
// and time moves jobs on its own, so that a fact is what must be so until some moment or event.
namespace perennial::soak {

using support::Job;
using Millis = int64_t;  // Steady.

Millis now_ms();

// How much earlier than a client has sent a command the server's clock may be when it carries the
// command out, because it reads its clock once a turn. Only what is off by more is a surprise.
inline constexpr Millis clock_slack_ms = 1'500;

// Loose: it is there, and nobody knows how. Unsure: its put was not answered.
enum class Place : uint8_t { Unsure, Ready, Delayed, Buried, Held, Loose, Gone };

struct Fact {
  Place place = Place::Unsure;
  bool may_be_gone = false;  // A delete was not answered.
  bool by_id = false;        // Held through reserve-job: a crash may show it as it was before.
  int holder = -1;           // The connection, when Held.
  uint32_t ttr_s = 0;
  Millis until = 0;      // Held and Delayed: it does not end by itself before.
  uint64_t asked = 0;    // The number of the event in which the command was sent that made it so,
  uint64_t since = 0;    // and of the one in which that was told.
  uint64_t version = 0;  // One more with each change.
};

struct Tube {
  unsigned kicks_in_flight = 0;
  uint64_t last_kick = 0;  // The number of the event in which the last one was answered, or lost.
};

// Of one run, all commands of these kinds: what is between sent and answered may have happened.
struct Counts {
  uint64_t puts_sent = 0, puts_done = 0, puts_refused = 0;
  uint64_t deletes_sent = 0, deletes_done = 0, deletes_missed = 0;
};

class Book {
 public:
  Book(uint64_t seed, size_t tubes_count) : ledger_(seed), tubes_(tubes_count) {}

  Job& add(size_t tube, uint32_t ttr_s);
  Fact& fact(const Job& job) { return facts_[job.serial]; }
  Tube& tube(size_t index) { return tubes_[index]; }
  static std::string tube_name(size_t index);
  size_t tubes_count() const { return tubes_.size(); }
  support::Ledger& ledger() { return ledger_; }
  Counts& counts() { return counts_; }

  // Whether the job may be in this state, as far as is known.
  bool may_be(const Job& job, JobState state);
  bool is_busy(const Job& job) const { return job.busy; }
  // Whether a kick of its tube may have come after what is known of it.
  bool kicked_since(const Job& job);

  // `asked`: when the command was sent that made it so; 0: now.
  void set(Job& job, Place place, int holder = -1, Millis until = 0, uint64_t asked = 0);
  // A reply has shown that the job is there: one of an unanswered put becomes known.
  void seen(Job& job);
  void note(Job& job, std::string line);
  uint64_t next_event() { return ++events_; }

  // All that may be there; those that are gone are left out in passing.
  std::deque<size_t>& present() { return present_; }
  Job& job(size_t serial) { return ledger_.jobs()[serial]; }

 private:
  support::Ledger ledger_;
  std::deque<Fact> facts_;  // By serial.
  std::vector<Tube> tubes_;
  std::deque<size_t> present_;
  Counts counts_;
  uint64_t events_ = 0;
};

std::string_view place_name(Place place);

}  // namespace perennial::soak
