#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cmd/perenniald/core/batches/batch_queue.h"
#include "cmd/perenniald/core/batches/commit_delay.h"
#include "cmd/perenniald/core/batches/promised_batches.h"
#include "cmd/perenniald/core/command_times.h"
#include "cmd/perenniald/core/outbox.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::core {

// The replies that wait for a batch: which connections wait for which batch, and how long the open
// batch waits for awaited clients.
//
// Invariant: The replies of a connection leave in the order of its commands, and each only when
// every batch whose effects it could show is committed.
//
// A waiter is listed once for each batch, not once for each reply: its outbox knows which replies a
// batch releases. One list of all replies would be simpler, but a commit would then visit every
// reply of a client that sends many commands at once.
class HeldReplies {
 public:
  // The held replies of one connection.
  struct Held {
    Outbox outbox;
    BatchIndex listed_for = 0;  // The newest batch for which it is listed as a waiter.
    uint64_t answered_in = 0;   // The round of the commit delay that answered it last.
  };

  // `batches` outlives this.
  explicit HeldReplies(const BatchQueue& batches) : batches_(batches) {}

  // The open batch holds a promised transition of this job.
  void on_promise(JobId job) { promised_batches_.on_promise(job, batches_.open_index()); }
  // Returns the batch that a reply has to wait for; a committed one if it need not wait.
  BatchIndex after(const JobReply& reply, const Held& held) const;
  // The same for every other reply, which may show the effect of any batch.
  BatchIndex after_all(const Held& held) const { return after(batches_.last_promised(), held); }
  // The outbox holds a reply that waits for batch `after`: lists the connection as a waiter, or
  // releases the reply if the batch is committed.
  void hold(ConnId conn, Held& held, BatchIndex after);

  // A command was answered by the reply that was held last.
  void count(const Held& held, const CommandTimes::Start& command);
  CommandTimes& times() { return times_; }
  const CommandTimes& times() const { return times_; }

  // More batches are committed: releases replies. `find(id)` returns a connection whose member
  // `replies` is a Held, or null if it is closed. `then(connection)` is called for each connection
  // whose replies may have left. `took`: nanoseconds until the newest batch was synced.
  template <typename Find, typename Then>
  void release(Nanos took, Nanos now, const Find& find, const Then& then);

  // Until when the open batch should wait for awaited clients. A time in the past, or 0: it should
  // not wait.
  Nanos wait_until() const { return commit_delay_.until(); }
  // How many clients are awaited: the last batch answered them, and they have nothing in the open
  // batch yet.
  size_t awaited() const { return commit_delay_.awaited(); }
  // The open batch is given to the log.
  void on_open_taken() { commit_delay_.on_taken(); }

 private:
  // The connections that hold replies for one batch. The oldest batch is first in waiters_.
  struct Waiters {
    BatchIndex after;
    std::vector<ConnId> conns;
    std::vector<CommandTimes::Group> commands;  // Those that these replies answer.
  };
  Waiters& waiters_for(BatchIndex after);

  // A reply never overtakes an earlier reply of the same connection.
  BatchIndex after(BatchIndex newest, const Held& held) const {
    return std::max({newest, held.listed_for, batches_.committed()});
  }

  const BatchQueue& batches_;
  PromisedBatches promised_batches_;
  CommitDelay commit_delay_;  // Of the open batch.
  std::deque<Waiters> waiters_;
  CommandTimes times_;
};

template <typename Find, typename Then>
void HeldReplies::release(Nanos took, Nanos now, const Find& find, const Then& then) {
  size_t expected = 0;
  const uint64_t round = commit_delay_.round() + 1;
  while (!waiters_.empty() && waiters_.front().after <= batches_.committed()) {
    for (const ConnId id : waiters_.front().conns) {
      auto* const conn = find(id);
      if (conn == nullptr) continue;
      Held& held = conn->replies;
      held.outbox.release(batches_.committed());
      if (held.listed_for != batches_.open_index() && held.answered_in != round) ++expected;
      held.answered_in = round;
      then(*conn);
    }
    times_.on_released(waiters_.front().commands);
    waiters_.pop_front();
  }
  commit_delay_.expect(expected, took, now);
}

}  // namespace perennial::core
