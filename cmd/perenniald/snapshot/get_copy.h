#pragma once

#include <functional>
#include <string>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// What becomes of the database that a copy replaces: it is removed, or moved to damaged-TIME in the
// data directory. Of one that cannot be read nobody knows whether others have all that is in it.
enum class OldDatabase : uint8_t { Removed, Kept };

// Replaces the database in `data_dir` by a copy of another node's that is new enough for the log in
// etcd to continue it. It asks the nodes that are in etcd: undamaged ones first, of these standbys,
// since a copy from one of them slows no client down, then the leader. It retries until a copy is
// in place. A failed attempt leaves the old database as it was. A key in etcd says how far it is:
// copy_status.h. Returns an error after `cancelled` returned true, or if `data_dir` cannot be used
// at all. `version`: of this program.
//
// REQUIRES: nobody has the directory open; and it is empty or belongs to the cluster, or the old
// database is kept.
Status get_copy(const ClusterConfig& config, const std::string& version,
                const std::string& data_dir, OldDatabase old,
                const std::function<bool()>& cancelled);

}  // namespace perennial::perenniald
