#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "store/cluster/keys.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Appends entries to the log in etcd as its leader, one at a time. It keeps the promises C1 and C2
// (etc/docs/cluster.md, "What a cluster promises"):
//
// - An entry is written only by a transaction that compares the leader's key with the revision of
//   this node's election (its fencing token) and finds the entry's key free. So two leaders cannot
//   both write an index, whatever their clocks say.
// - After any error the outcome is unknown, because etcd has committed transactions that it had
//   answered with an error. The appender then reads the entry and the leader's key together. An
//   entry with these bytes is committed. An entry with others, or another leader, ends this
//   leadership. If there is no entry and this node still leads, the same bytes are sent again. A
//   late first attempt and its retry cannot both succeed, since each needs the index to be free.
// - Only an answer commits. An unknown outcome is never reported and never guessed.
class Appender {
 public:
  struct Events {
    std::function<void(BatchIndex)> committed;
    // This node does not lead any more, or can never commit the entry. Nothing is reported after.
    std::function<void(std::string why)> lost;
    // An attempt failed and will be retried.
    std::function<void(const etcd::Failure&)> failed;
    // The entry has waited for append_patience, and the last attempt failed with this error. None:
    // the entry is committed. Called when that changes.
    std::function<void(std::optional<etcd::CallError>)> waits;
  };

  // `executor`, `client` and `keys` outlive this.
  Appender(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events);

  // Starts to append after entry `last`, which is the last one of the log. `token`: the fencing
  // token, the revision of the leader's key. `is_empty`: the log has no entry, and `last` is the
  // base.
  void lead(etcd::Revision token, BatchIndex last, bool is_empty);
  // Nothing is sent or reported from now on.
  void stop();

  bool idle() const { return !entry_; }
  // Appends the next entry, and deletes the entries before `trim_before` in the same transaction; 0
  // deletes none. The newest entry must stay. REQUIRES: idle(), after lead().
  void append(BatchIndex index, std::string bytes, BatchIndex trim_before);

 private:
  struct Entry {
    BatchIndex index = 0;
    std::string bytes;
    BatchIndex trim_before = 0;
    Nanos begun_at = 0;
  };

  void send();
  void on_sent(const etcd::Outcome<etcd::TransactionDone>& outcome);
  void read_outcome();
  void on_outcome_read(const etcd::Outcome<etcd::TransactionDone>& outcome);
  // Commits, retries or ends the leadership, by what was read of the entry and of the leader's key.
  void decide(const etcd::TransactionDone& seen);
  void retry(void (Appender::*step)());
  void fail(const etcd::Failure& failure);
  void set_waits(std::optional<etcd::CallError> waits_for);
  void commit();
  void lose(std::string why);

  etcd::Executor& executor_;
  etcd::Client& client_;
  const Keys& keys_;
  const Events events_;
  etcd::Revision token_ = 0;  // The fencing token. 0: does not lead.
  BatchIndex last_ = 0;
  bool is_empty_ = false;
  std::optional<Entry> entry_;            // The one under way.
  std::optional<etcd::CallError> waits_;  // What the last event `waits` reported.
};

}  // namespace perennial::store::cluster
