#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/cluster/node_runner.h"
#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/core/session.h"
#include "cmd/perenniald/http/cluster_metrics.h"
#include "cmd/perenniald/http/health.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/net/connections.h"
#include "cmd/perenniald/net/sockets.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/snapshot/peer_checkpoints.h"
#include "cmd/perenniald/standby/standby.h"
#include "engine/types/stats.h"
#include "store/commit/log.h"

namespace perennial::perenniald {

// The server as a node of a cluster, on the loop's thread: it joins the node
// (cluster/node_runner.h) with what a standby does for clients and with the copies that other nodes
// ask for. If the server is part of no cluster, join() is not called, and all calls do nothing.
//
// It does not decide when the server begins to serve or ends.
class ClusterNode {
 public:
  // All of them outlive this. A reload may change `config`.
  ClusterNode(uv_loop_t& loop, TurnClock& clock, Connections& connections, const Config& config);

  // Begins to follow the cluster's log as soon as Startup does. `users`: null if everybody may do
  // everything. `wake` is called on another thread: NodeRunner. Returns why that cannot be.
  std::optional<Failure> join(const std::string& version, const access::Users* users,
                              std::function<void()> wake);
  bool is_joined() const { return runner_ != nullptr; }
  // For Startup. Null: join() was not called.
  NodeRunner* runner() const { return runner_.get(); }

  // ---- While this node does not lead.
  // Another node that leads. None: nobody leads, or this node does.
  std::optional<OtherLeader> other_leader() const;
  // To whom clients are passed on.
  void follow(const std::optional<OtherLeader>& leader);
  // Whether clients of this socket are passed on. `has_tls`: they speak it.
  bool is_forwarded(const BoundSocket& socket, bool has_tls) const;
  // The session of a client that is passed on, or of a connection to the leader. REQUIRES:
  // is_joined().
  core::Session& open(ConnId conn, const AcceptedSocket& socket);
  // Serves what has changed. Call it before the loop blocks.
  void serve();

  // ---- When it leads.
  // The log that the loop appends to. `now`: the time with which this leader has loaded its jobs.
  // REQUIRES: is_joined().
  std::unique_ptr<store::Log> take_log(Nanos now);
  // Clients that wait for a leader are served here.
  void begin_serving();
  // NodeRunner::check_lease(). Called before anything is answered.
  void check_lease() const;
  // NodeRunner::on_lost_body().
  void on_lost_body(const Status& why) const;
  // NodeRunner::on_loop_stalled(). Any thread.
  void on_loop_stalled(Nanos stalled) const;
  // Another node could lead in the place of this one at once, and is not known to be damaged.
  bool has_successor() const;
  // An operator asks this leader to hand over. Returns why that cannot be; empty: it was asked.
  std::string ask_handover();
  // Somebody has asked this leader to hand over.
  bool hands_over() const;

  // ---- Settings.
  // Tells the others in which settings the nodes differ, as digests.
  void tell_settings(const access::Users* users);
  // Reaches etcd by the settings of now: NodeRunner::reconfigure(). REQUIRES: is_joined().
  Status reconfigure();

  // ---- What others are told.
  // All of these without a cluster: none.
  std::optional<ClusterStats> stats() const;
  std::optional<http::ClusterFacts> facts() const;
  // `serves`: the jobs are loaded.
  http::ClusterHealth health(bool serves, bool is_stopping) const;
  // What other nodes ask for: checkpoints and digests. None: there is nothing at this path.
  std::optional<http::Http::Handled> answer(const http::Request& request);

  // ---- The end.
  // Gives up the lead, so that a standby takes over at once.
  void leave();
  // Closes its handles, which the loop needs to end.
  void close();
  // Ends its threads. REQUIRES: the loop and the log of take_log() have ended.
  void end();

 private:
  uv_loop_t& loop_;
  TurnClock& clock_;
  Connections& connections_;
  const Config& config_;
  // Each is used by those below it.
  std::unique_ptr<PeerCheckpoints> peer_checkpoints_;
  std::unique_ptr<NodeRunner> runner_;
  std::optional<Standby> standby_;  // From join() on. When this node leads it has nothing to do.
  uv_async_t peer_;                 // For peer_checkpoints_. Open while standby_ is there.
};

}  // namespace perennial::perenniald
