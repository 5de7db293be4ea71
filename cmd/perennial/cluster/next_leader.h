#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "engine/types/status.h"
#include "store/cluster/keys.h"
#include "store/cluster/records.h"

namespace perennial::tool {

// The leader that follows the one of an epoch, which was asked to give up the lead. The time is
// that since this was made.
class NextLeader {
 public:
  // `etcd` and `keys` outlive this. With `says`, wait() prints who leads.
  NextLeader(EtcdCalls& etcd, const store::cluster::Keys& keys, uint64_t epoch, bool says)
      : etcd_(etcd), keys_(keys), epoch_(epoch), says_(says) {}

  // Waits until another epoch has a leader. None: that is not so after `limit`.
  Result<std::optional<store::cluster::LeaderRecord>> wait(std::chrono::seconds limit);

 private:
  using Clock = std::chrono::steady_clock;

  Result<std::optional<store::cluster::LeaderRecord>> read() const;
  void print(const store::cluster::LeaderRecord& leader) const;

  EtcdCalls& etcd_;
  const store::cluster::Keys& keys_;
  const uint64_t epoch_;
  const bool says_;
  const Clock::time_point begun_ = Clock::now();
  std::optional<Clock::time_point> gone_at_;  // Since when no node led.
};

// --wait, for NextLeader::wait().
Flag wait_flag(std::chrono::seconds& target);

}  // namespace perennial::tool
