#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/leases/lease_tokens.h"
#include "cmd/perenniald/http/leases/places.h"
#include "cmd/perenniald/http/leases/reservation.h"
#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/view/engine_view.h"

namespace perennial::http {

// The jobs that are reserved over HTTP. Each has a lease, which its user shows to finish the job,
// by whatever connection. A lease ends with the reservation: when its time is over, the job is
// finished, the user is taken away, or the server ends.
//
// It decides nothing: a command goes to the client of the queue that holds the job, and that client
// holds it, or is told NOT_FOUND.
class Leases {
 public:
  // How many leases one call of on_time() ends, or a few more, and of how many reservations it asks
  // whether they have lost jobs.
  static constexpr size_t ended_at_once = 5'000;
  static constexpr size_t asked_at_once = 20'000;

  struct Hooks {
    std::function<engine::EngineView()> engine;
    std::function<Nanos()> now;
  };
  explicit Leases(Hooks hooks) : hooks_(std::move(hooks)) {}

  // How many leases there may be: those that are, and those for which somebody waits. So nobody
  // reserves what then cannot be given to anybody. Each costs some 250 bytes besides its
  // reservation, and that some kilobytes.
  static constexpr Places::Max max = {.all = 100'000, .of_user = 50'000};
  Places& places() { return places_; }
  // Of requests that wait for jobs. Their answers take them.
  Places& waiters() { return waiters_; }
  const LeaseTokens& tokens() const { return tokens_; }

  // A lease of each of the jobs, in their order. From here on the reservation belongs to this.
  // REQUIRES: it holds them, and places().take() has made a place for each.
  std::vector<uint64_t> add(std::unique_ptr<Reservation> reservation,
                            const std::vector<JobId>& jobs);
  // Nobody was told of these leases, or nobody may know of them: the jobs are ready at once.
  void give_back(ConnId reservation);

  struct Lease {
    ConnId reservation = 0;
    JobId job = 0;
    // Since the epoch.
    Nanos began_at = 0;
    Nanos ends_at = 0;
  };
  using ByNumber = std::map<uint64_t, Lease>;
  // In the order in which they were given. Some may have ended, and not be known to have.
  const ByNumber& by_number() const { return leases_; }
  // Null: it has ended, as far as is known without asking the queue.
  const Lease* find(uint64_t lease) const;
  // The lease of a job that this connection holds. None: it is no reservation, or it has no such
  // job.
  std::optional<uint64_t> lease_of(ConnId holder, JobId job) const;
  // REQUIRES: the lease is one of by_number().
  const Reservation& reservation_of(const Lease& lease) const {
    return *reservations_.at(lease.reservation);
  }
  // Sends a command for the job of a lease, which it must name.
  void call(uint64_t lease, const Command& command, std::string_view body, LeaseCall& call);
  // The call is about to go.
  void forget(const LeaseCall& call);
  // The lease has a new end, since its job was touched. None: it has ended.
  std::optional<Nanos> renew(uint64_t lease);

  // Once a second: forgets what has ended, because its time is over, or as somebody else has taken
  // its job away, by a flush for instance.
  void on_time();
  // The same of all of them, for a user who asks for one more than there may be. It does nothing
  // twice within end_lost_interval, since it may take as long as some hundred requests.
  static constexpr Nanos end_lost_interval = 100 * nanos_per_ms;
  void end_lost();
  void remove_ended();
  // Of reservations that are there.
  size_t reservations() const { return reservations_.size(); }
  size_t count() const { return leases_.size(); }

 private:
  void on_news(Reservation& reservation);
  void end(uint64_t lease);
  // Ends the leases of the reservation whose jobs it does not hold any more. Returns how many.
  size_t end_lost_of(Reservation& reservation);
  void ask_some(size_t ended);
  // The end of the reservation of a job that a client holds. None: it does not hold it.
  std::optional<Nanos> end_of(const Lease& lease) const;

  const Hooks hooks_;
  LeaseTokens tokens_;
  Places places_;
  Places waiters_;
  uint64_t next_ = 1;
  std::map<ConnId, std::unique_ptr<Reservation>> reservations_;
  ByNumber leases_;
  std::set<std::pair<Nanos, uint64_t>> ends_;   // Of all leases.
  std::unordered_map<JobId, uint64_t> by_job_;  // The newest lease of each job.
  // Those without a lease, or whose client the server has ended. They go later: the news comes in
  // the midst of a call of their client.
  std::vector<ConnId> ended_;
  Nanos looked_at_all_ = 0;
  ConnId asked_last_ = 0;  // The reservation that on_time() has asked about last.
};

}  // namespace perennial::http
