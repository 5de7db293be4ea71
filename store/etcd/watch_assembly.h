#pragma once

#include <optional>
#include <vector>

#include "store/etcd/etcd.h"
#include "store/etcd/etcd.pb.h"

namespace perennial::store::etcd {

// Makes reports of the answers to a watch. etcd divides an answer that is too large into fragments,
// anywhere; so the events of the newest revision are held back until it is known to be complete.
class WatchAssembly {
 public:
  explicit WatchAssembly(Revision from) : reported_(from - 1) {}

  // Returns what can be reported now. Nothing: a fragment has completed no revision.
  //
  // What has been reported follows from the events alone. The revision in an answer's header may be
  // ahead of events that are still to come: in etcd up to 3.4.24 that of an answer to a progress
  // request (issue 15220), and in all versions that of a watch which is catching up.
  std::optional<WatchEvents> add(etcdserverpb::WatchResponse& answer);

 private:
  Revision reported_;
  std::vector<WatchEvent> held_;
};

}  // namespace perennial::store::etcd
