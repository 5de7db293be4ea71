#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "cmd/perenniald/core/batch_queue.h"
#include "cmd/perenniald/core/company.h"
#include "cmd/perenniald/core/outbox.h"
#include "cmd/perenniald/core/promises.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::core {

// The replies that wait for a batch: for which, of whom, and how long that batch should wait for
// the commands of those who were just answered.
//
// Invariants: a reply leaves in the order of the commands of its connection, and not before every
// batch that it could tell of is answerable.
class HeldReplies {
 public:
  // What is held of one connection.
  struct Held {
    Outbox outbox;
    BatchIndex listed_for = 0;  // The newest batch under which it is listed here.
    uint64_t answered_in = 0;   // The round of company in which it was answered.
  };

  // The queue outlives it.
  explicit HeldReplies(const BatchQueue& batches) : batches_(batches) {}

  // Something was promised about a job, in the batch that is open.
  void on_promise(JobId job) { promises_.on_promise(job, batches_.open_index()); }
  // The batch that a reply has to wait for; one that is answerable if it waits for none.
  BatchIndex after(const Reply& reply, const Held& held) const;
  // The same of an answer that may tell of anything.
  BatchIndex after_all(const Held& held) const { return after(batches_.last_promised(), held); }
  // A reply that waits for `after` is in the outbox: lists the connection, or lets the reply leave.
  void hold(ConnId conn, Held& held, BatchIndex after);

  // More batches are answerable: lets replies leave. `find(id)` gives a connection with a member
  // `replies` of this Held, or null if it is gone; `then(connection)` is called with each whose
  // replies may have left. `took`: how long the newest batch took until it was synced.
  template <typename Find, typename Then>
  void release(Nanos took, Nanos now, const Find& find, const Then& then);

  // Until when the open batch should wait for company; in the past or 0: for none.
  Nanos wait_until() const { return company_.until(); }
  // How many of those who were answered last have nothing in the open batch yet.
  size_t missing() const { return company_.missing(); }
  // The open batch goes to the log.
  void on_open_taken() { company_.on_taken(); }

 private:
  // Which connections hold replies for which batch, oldest batch first.
  struct Holders {
    BatchIndex after;
    std::vector<ConnId> conns;
  };

  // Never before what the same client was answered before.
  BatchIndex after(BatchIndex told, const Held& held) const {
    return std::max({told, held.listed_for, batches_.answerable()});
  }

  const BatchQueue& batches_;
  Promises promises_;
  Company company_;  // Of the open batch.
  std::deque<Holders> holders_;
};

template <typename Find, typename Then>
void HeldReplies::release(Nanos took, Nanos now, const Find& find, const Then& then) {
  size_t expected = 0;
  const uint64_t round = company_.round() + 1;
  while (!holders_.empty() && holders_.front().after <= batches_.answerable()) {
    for (const ConnId id : holders_.front().conns) {
      auto* const conn = find(id);
      if (conn == nullptr) continue;
      Held& held = conn->replies;
      held.outbox.release(batches_.answerable());
      if (held.listed_for != batches_.open_index() && held.answered_in != round) ++expected;
      held.answered_in = round;
      then(*conn);
    }
    holders_.pop_front();
  }
  company_.expect(expected, took, now);
}

}  // namespace perennial::core
