#pragma once

#include "engine/types/basic.h"

// How long the parts of a node wait. All of it is measured on etcd 3.4: README.md, "Time".
namespace perennial::store::cluster {

// How long every call may take. The death of etcd's leader costs one deadline and a little.
inline constexpr Nanos call_timeout = nanos_per_second;
// A failed call is retried after this, and never from inside its own failure: that would keep
// gRPC's queue busy, and the channel would never connect again.
inline constexpr Nanos retry_delay = 75 * nanos_per_ms;
// How often a node publishes its record.
inline constexpr Nanos publish_interval = nanos_per_second;
// How often etcd's history is compacted, and the size of its database and its alarms are read.
inline constexpr Nanos upkeep_interval = 5 * nanos_per_second;
// An alarm of etcd is not disarmed more often. Where etcd's quota is less than `etcd_quota_bytes`,
// it is raised again at once.
inline constexpr Nanos disarm_interval = 30 * nanos_per_second;
// Appends that have failed for so long are reported. The death of etcd's leader costs about three
// seconds (a deadline, an election, a retry) and heals by itself. A leader that is cut off from
// etcd gives up at four fifths of its lease, after 8 s by default.
inline constexpr Nanos append_patience = 5 * nanos_per_second;
// How often a standby reads who leads, besides its watch: a watch that begins at a revision that is
// compacted meanwhile may miss the deletes of that revision (etcd 3.4.23).
inline constexpr Nanos reread_interval = 5 * nanos_per_second;
// Without a leader, the standby that holds most campaigns first. Each other one waits this much
// longer than the one before it.
inline constexpr Nanos place_delay = 200 * nanos_per_ms;
// After a handover to one node, each other one waits this much longer. It is less than
// reread_interval, since each read begins the wait anew.
inline constexpr Nanos next_delay = 2 * nanos_per_second;
// A node whose disk has no space for puts waits this much longer, while another one that has space
// is there.
inline constexpr Nanos space_delay = 2 * nanos_per_second;
static_assert(next_delay + space_delay < reread_interval);
// A node to which the lead was handed over keeps it for so long before it hands over for want of
// disk space. Otherwise the lead would go round where all disks are nearly full and each has space
// for a moment.
inline constexpr Nanos space_handover_interval = 180 * nanos_per_second;
// Until a leader that is asked at its own port hands over: who has asked is answered by then.
inline constexpr Nanos handover_delay = nanos_per_second / 2;

}  // namespace perennial::store::cluster
