#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/keys.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Reads the log's entries in order, each once: first what is there, in pages, then what comes, by a
// watch. It looks at keys and at the chain (entry.h), so that it notices when the log is not that
// of the entries before: etcd may have been restored from an older snapshot while this node was
// paused or cut off. Each page begins with the entry that was passed on last, which has to be the
// same. Whoever applies a batch checks what is in it.
class Follower {
 public:
  struct Events {
    // The next batch, as bytes.
    std::function<void(BatchIndex, std::string bytes)> entry;
    // Every entry that was in the log when it was last read has been passed on.
    std::function<void()> current;
    // After finish(): every entry of the log has been passed on.
    std::function<void()> finished;
    // The next entry has been trimmed; the first that is left is this one. Nothing follows.
    std::function<void(BatchIndex first)> behind;
    // The log does not go on from what was passed on: it is another history. Nothing follows.
    std::function<void(Status why)> other_history;
    std::function<void(const etcd::Failure&)> failed;  // A try has failed. It goes on by itself.
  };

  // `executor`, `client` and `keys` outlive this.
  Follower(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events);

  // Where the log goes on.
  struct Position {
    BatchIndex next = 0;    // The entry that comes next, at least 1.
    uint64_t previous = 0;  // hash_of_entry() of the one before. 0: there is none, or not known.
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
  int64_t page_;             // The entries that the next page may have.
  etcd::WatchId watch_ = 0;  // 0: none.
  // Counts start(), pause(), resume() and finish(), so that what was asked for before does nothing.
  uint64_t life_ = 0;
};

}  // namespace perennial::store::cluster
