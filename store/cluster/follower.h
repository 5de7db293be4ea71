#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/types/basic.h"
#include "store/cluster/keys.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// Reads the log's entries in order, each once: first what is there, in pages, then what comes, by a
// watch. It looks at keys only. Whoever applies an entry checks what is in it.
class Follower {
 public:
  struct Events {
    std::function<void(BatchIndex, std::string bytes)> entry;
    // Every entry that was in the log when it was last read has been passed on.
    std::function<void()> current;
    // After finish(): every entry of the log has been passed on.
    std::function<void()> finished;
    // The next entry has been trimmed; the first that is left is this one. Nothing follows.
    std::function<void(BatchIndex first)> behind;
    std::function<void(const etcd::Failure&)> failed;  // A try has failed. It goes on by itself.
  };

  // `executor`, `client` and `keys` outlive this.
  Follower(etcd::Executor& executor, etcd::Client& client, const Keys& keys, Events events);

  // Begins with the entry `next`. REQUIRES: not started, or stopped.
  void start(BatchIndex next);
  // Passes on nothing more until resume(), or for good. Entries are not read meanwhile.
  void pause();
  void resume();
  void stop() { pause(); }
  // Reads to the end of the log and stops. For a node that has just become the leader: no other
  // node can append any more. REQUIRES: started.
  void finish();

  // The index of the entry that comes next.
  BatchIndex next() const { return next_; }

 private:
  void read();
  void on_read(const etcd::Outcome<etcd::Found>& outcome);
  // Passes on the page. Returns false if the next entry is not in the log any more.
  bool take(const etcd::Found& found);
  void watch(etcd::Revision from);
  void on_report(const etcd::WatchReport& report);
  void read_later();

  etcd::Executor& executor_;
  etcd::Client& client_;
  const Keys& keys_;
  const Events events_;
  BatchIndex next_ = 0;
  bool running_ = false;
  bool finishing_ = false;
  int64_t page_;             // The entries that the next page may have.
  etcd::WatchId watch_ = 0;  // 0: none.
  // Counts start(), pause(), resume() and finish(), so that what was asked for before does nothing.
  uint64_t life_ = 0;
};

}  // namespace perennial::store::cluster
