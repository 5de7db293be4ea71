#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/keys.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Reads the entries of the log in order, each once: first those that are there, in pages, then new
// ones, by a watch. It compares keys and the chain of hashes (entry.h), so that it notices when the
// log has another history than the entries before: etcd may have been restored from an older
// snapshot while this node was paused or cut off. Each page begins with the entry that was passed
// on last, which has to be the same. It does not decode batches: whoever applies one checks it.
class Follower {
 public:
  struct Events {
    // The next batch, as bytes.
    std::function<void(BatchIndex, std::string bytes)> entry;
    // Every entry that was in the log when it was last read has been passed on.
    std::function<void()> current;
    // After finish(): every entry of the log has been passed on.
    std::function<void()> finished;
    // This node lags too far: the next entry was trimmed, and `first` is the oldest that is left.
    // Nothing follows.
    std::function<void(BatchIndex first)> behind;
    // The log does not go on from what was passed on: it is another history. Nothing follows.
    std::function<void(Status why)> other_history;
    // An attempt failed and will be retried.
    std::function<void(const etcd::Failure&)> failed;
  };

  // `executor`, `client` and `keys` outlive this.
  Follower(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events);

  // Where to read on.
  struct Position {
    BatchIndex next = 0;    // The entry that comes next, at least 1.
    uint64_t previous = 0;  // hash_of_entry() of the entry before. 0: there is none, or unknown.
    BatchIndex base = 0;    // The log begins after it: the entry with this index was never there.
  };
  // REQUIRES: not started, or stopped.
  void start(const Position& position);
  // Passes on nothing more until resume(), or for good. Entries are not read meanwhile.
  void pause();
  void resume();
  void stop() { pause(); }
  // Reads to the end of the log and stops. For a node that has just become the leader: no other
  // node can append any more. REQUIRES: started.
  void finish();

  // The index of the entry that comes next.
  BatchIndex next() const { return position_.next; }
  // hash_of_entry() of the entry before that.
  uint64_t hash() const { return position_.previous; }

 private:
  void read();
  void on_read(const etcd::Outcome<etcd::Found>& outcome);
  // Passes on the page. Returns false if nothing follows: the next entry is not in the log any
  // more, or never was.
  bool take(const etcd::Found& found);
  // Checks that the page goes on from what was passed on.
  bool begins_as_expected(const etcd::Found& found);
  // Returns false if it was not passed on.
  bool pass_on(const etcd::KeyValue& entry);
  void end_with(StatusCode code, std::string why);
  void watch(etcd::Revision from);
  void on_report(const etcd::WatchReport& report);
  void read_later();

  etcd::Executor& executor_;
  etcd::Client& client_;
  const Keys& keys_;
  const Events events_;
  Position position_;
  bool running_ = false;
  bool finishing_ = false;
  int64_t page_;             // How many entries the next page may have.
  etcd::WatchId watch_ = 0;  // 0: none.
  // Counts start(), pause(), resume() and finish(). An answer to an earlier call is ignored.
  uint64_t generation_ = 0;
};

}  // namespace perennial::store::cluster
