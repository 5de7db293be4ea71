#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"

// Whether the server lives, and whether clients should be sent to it. Both say no tube's name and
// no secret, so anybody may ask. The form is that of Kubernetes.
namespace perennial::http {

struct HealthFacts {
  Nanos commit_age = 0;  // How long the log has been busy with one batch.
  Nanos commit_age_max = 30 * nanos_per_second;
  bool is_recovered = true;  // Until then the queue is not served.
  bool is_draining = false;
  bool is_stopping = false;
  bool accepts_puts = true;        // The disk has space for jobs.
  uint64_t jobs_without_body = 0;  // Damage on disk has cost them.
  uint64_t damaged_rows = 0;       // Blocks of other tables that are damaged on disk.
  bool is_table_damaged = false;   // A checkpoint could not read it whole.
};

// A server that is no part of a cluster leads itself.
struct ClusterHealth {
  bool is_node = false;
  std::string name = {};            // The cluster's,
  std::string node = {};            // and this node's in it.
  bool is_elected = false;          // It leads, and serves as soon as its jobs are loaded.
  bool leads = false;               // It serves, and its lease is not over.
  bool forwards = false;            // Clients that come to a standby are passed on.
  uint64_t lag = 0;                 // Entries of the log that this node has not applied yet.
  std::string append_failure = {};  // Why etcd takes no entry for a while. Empty: it does.
  bool has_space = true;            // Its disk has space for the jobs of puts, also as a standby.
  std::string leader = {};          // The leader's name. Empty: nobody leads.
  std::string leader_address = {};  // Where clients reach it.
  std::string leader_url = {};      // Of its HTTP. Empty: it has none.
  bool is_stopping = false;
};

// /leader: for load balancers that send clients to one node. Status 200 on the node that serves,
// and 503 on all others.
Response leader(const ClusterHealth& cluster);

// /livez: a restart would help if it fails, so it looks neither at the disk nor at clients. That
// the loop answers at all is one of its checks.
Response livez(const HealthFacts& facts, std::string_view query);
// /readyz: a server whose disk is full, or has lost bodies, stays ready and says "degraded":
// otherwise nobody could delete jobs. A standby that passes clients on is ready. A leader whose
// entries etcd does not take is not: no client would be answered.
Response readyz(const HealthFacts& facts, const ClusterHealth& cluster, std::string_view query);

}  // namespace perennial::http
