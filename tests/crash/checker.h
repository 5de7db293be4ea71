#pragma once

#include <array>

#include "tests/support/ledger.h"
#include "tests/support/server_process.h"

namespace perennial::crash {

using support::Job;
using support::Ledger;

// Compares everything that a server holds after a crash with the ledger. Nothing acknowledged may
// be missing or changed, no deleted job may exist, and nothing may exist that was never sent. The
// outcomes that the crash left open are resolved by what is found, so that the next load starts
// from known states.
class Checker {
 public:
  // beanstalkd loses pauses. If they do not persist, they are taken as found.
  Checker(Ledger& ledger, bool pauses_persist) : ledger_(ledger), pauses_persist_(pauses_persist) {}

  Status check(const support::ServerProcess& server);

  size_t found() const { return found_; }
  size_t notes_found() const { return notes_found_; }

 private:
  // Finds the ids of puts that were not answered, among those that they may have received.
  Status adopt_unanswered(support::ClientSocket& client, size_t unanswered);
  Status probe(support::ClientSocket& client);
  // Each damaged job is answered so, and is buried by that at the latest.
  Status await_burials(support::ClientSocket& client);
  Status walk(support::ClientSocket& client);
  Status check_some(support::ClientSocket& client, const std::vector<Job*>& jobs);
  Status check_job(Job& job, std::string_view peeked, std::string_view stats);
  Status check_notes(Job& job, std::string_view stats, std::string_view listed);
  Status check_tube(support::ClientSocket& client, size_t index);
  Status check_sums(support::ClientSocket& client);
  size_t unanswered_puts();

  Ledger& ledger_;
  bool pauses_persist_;
  JobId checked_to_ = 0;  // Each id up to this one is in the ledger or was never given out.

  // Figures of the latest check.
  size_t found_ = 0;
  size_t notes_found_ = 0;
  std::array<size_t, 4> states_{};
  size_t delays_ending_ = 0;  // Jobs that may become ready before the sums are read.
  std::vector<size_t> in_tube_;
};

}  // namespace perennial::crash
