#pragma once

#include <array>

#include "tests/support/ledger.h"
#include "tests/support/server_process.h"

namespace perennial::crash {

using support::Job;
using support::Ledger;

// Walks a server that has come back from a crash and compares all that it holds with the ledger:
// nothing acknowledged is missing or changed, nothing deleted is there, nothing is there that was
// never sent. What is found settles what the crash left open, so that the next load starts from it.
class Checker {
 public:
  // beanstalkd forgets pauses; then they are taken as found.
  Checker(Ledger& ledger, bool pauses_persist) : ledger_(ledger), pauses_persist_(pauses_persist) {}

  Status check(const support::ServerProcess& server);

  size_t found() const { return found_; }

 private:
  // Which ids may belong to puts that were not answered, and does any?
  Status adopt_unanswered(support::ClientSocket& client, size_t unanswered);
  Status probe(support::ClientSocket& client);
  Status walk(support::ClientSocket& client);
  Status check_some(support::ClientSocket& client, const std::vector<Job*>& jobs);
  Status check_job(Job& job, std::string_view peeked, std::string_view stats);
  Status check_tube(support::ClientSocket& client, size_t index);
  Status check_sums(support::ClientSocket& client);
  size_t unanswered_puts();

  Ledger& ledger_;
  bool pauses_persist_;
  JobId checked_to_ = 0;  // Every id up to here is known to the ledger or was never given out.

  // Of the latest check.
  size_t found_ = 0;
  std::array<size_t, 4> states_{};
  size_t delays_ending_ = 0;  // May be ready by the time that the sums are read.
  std::vector<size_t> in_tube_;
};

}  // namespace perennial::crash
