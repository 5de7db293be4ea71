#pragma once

#include <optional>
#include <vector>

#include "store/etcd/etcd.h"
#include "store/etcd/etcd.pb.h"

namespace perennial::store::etcd {

// Assembles the responses of a watch to reports. etcd splits a large response into fragments, also
// within a revision; so the events of the newest revision are held back until it is complete.
class WatchAssembly {
 public:
  explicit WatchAssembly(Revision from) : reported_(from - 1) {}

  // Returns the events that can be reported now. None: the fragment has completed no revision.
  //
  // The reported revision is that of the events and not that of the response's header, which may be
  // ahead of events that are still to come: in etcd up to 3.4.24 after a progress request (issue
  // 15220), and in all versions while a watch is catching up.
  std::optional<WatchEvents> add(etcdserverpb::WatchResponse& response);

 private:
  Revision reported_;
  std::vector<WatchEvent> held_;
};

}  // namespace perennial::store::etcd
