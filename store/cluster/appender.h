#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/types/basic.h"
#include "store/cluster/keys.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Appends entries to the log in etcd as its leader, one at a time. This is where C1 and C2 are kept
// (specification, section 1):
//
// - An entry is written only by a transaction that compares the leader's key with the revision of
//   this node's election (its fencing token) and finds the entry's key free. So two leaders cannot
//   both write an index, whatever their clocks say.
// - After any error the outcome is unknown, because etcd has done transactions that it had answered
//   with an error. The appender then reads the entry and the leader's key together. An entry with
//   these bytes is committed; an entry with others, or another leader, is the end of this
//   leadership; and if there is none while this node still leads, the same bytes are sent again. A
//   late first try and its repetition cannot both happen, since each needs the index to be free.
// - Only an answer commits. An unknown outcome is never reported and never guessed.
class Appender {
 public:
  struct Events {
    std::function<void(BatchIndex)> committed;
    // This node does not lead any more, or can never commit the entry. Nothing is reported after.
    std::function<void(std::string why)> lost;
    // A try has failed. It goes on by itself.
    std::function<void(const etcd::Failure&)> failed;
    // The entry has waited for append_patience and its tries fail, the last one for this reason;
    // none: it is committed. Called when that changes.
    std::function<void(std::optional<etcd::CallError>)> waits;
  };

  // `executor`, `client` and `keys` outlive this.
  Appender(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events);

  // Begins with the leader's key at this revision, after the last entry of the log. `is_empty`: the
  // log has no entry, so that `last` is the base.
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
  void look();
  void on_seen(const etcd::Outcome<etcd::TransactionDone>& outcome);
  // Judges what was read of the entry and of the leader.
  void judge(const etcd::TransactionDone& seen);
  void retry(void (Appender::*step)());
  void fail(const etcd::Failure& failure);
  void set_waits(std::optional<etcd::CallError> waits_for);
  void commit();
  void lose(std::string why);

  etcd::Executor& executor_;
  etcd::Client& client_;
  const Keys& keys_;
  const Events events_;
  etcd::Revision token_ = 0;  // 0: does not lead.
  BatchIndex last_ = 0;
  bool is_empty_ = false;
  std::optional<Entry> entry_;            // The one under way.
  std::optional<etcd::CallError> waits_;  // By the last event of this name.
};

}  // namespace perennial::store::cluster
