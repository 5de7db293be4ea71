#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// The endpoints that the domain `etcd_discovery` names, as discover_endpoints().
Result<std::vector<std::string>> discover_etcd(const ClusterConfig& config);

// Looks the domain up again and again, on a thread of its own, and says when it names other
// endpoints.
class EtcdDiscovery {
 public:
  // `endpoints`: those that are known. `found` is called on another thread.
  EtcdDiscovery(const ClusterConfig& config, std::vector<std::string> endpoints,
                std::function<void(std::vector<std::string>)> found);
  // Waits for a look-up that is under way.
  ~EtcdDiscovery();
  EtcdDiscovery(const EtcdDiscovery&) = delete;
  EtcdDiscovery& operator=(const EtcdDiscovery&) = delete;

  // Any thread.
  void look_now();

 private:
  void run();
  void look_up();
  bool wait();

  const ClusterConfig config_;
  const std::function<void(std::vector<std::string>)> found_;
  std::vector<std::string> endpoints_;  // As they were found last.
  std::string failure_;                 // That was logged last. Empty: the last look-up was good.

  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  bool is_wanted_ = false;
  bool is_ending_ = false;

  std::thread thread_;  // Last, so that it finds all other members.
};

}  // namespace perennial::perenniald
