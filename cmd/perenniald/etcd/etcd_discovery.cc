#include "cmd/perenniald/etcd/etcd_discovery.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perenniald/process/log.h"
#include "store/etcd/discovery.h"

namespace perennial::perenniald {
namespace {

constexpr std::chrono::seconds discovery_interval(30);

}  // namespace

Result<std::vector<std::string>> discover_etcd(const ClusterConfig& config) {
  using store::etcd::DiscoveryOf;
  Result<std::vector<std::string>> found = store::etcd::discover_endpoints(
      config.etcd_discovery, config.has_etcd_tls() ? DiscoveryOf::Tls : DiscoveryOf::Either);
  if (!found.ok()) return std::move(found.take_status()).with("etcd_discovery");
  return found;
}

EtcdDiscovery::EtcdDiscovery(const ClusterConfig& config, std::vector<std::string> endpoints,
                             std::function<void(std::vector<std::string>)> found)
    : config_(config),
      found_(std::move(found)),
      endpoints_(std::move(endpoints)),
      thread_([this] { run(); }) {}

EtcdDiscovery::~EtcdDiscovery() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void EtcdDiscovery::look_now() {
  const std::lock_guard lock(mutex_);
  is_wanted_ = true;
  changed_.notify_all();
}

void EtcdDiscovery::run() {
  while (wait()) look_up();
}

// Returns false when this ends.
bool EtcdDiscovery::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, discovery_interval, [this] { return is_wanted_ || is_ending_; });
  is_wanted_ = false;
  return !is_ending_;
}

void EtcdDiscovery::look_up() {
  Result<std::vector<std::string>> found = discover_etcd(config_);
  if (!found.ok()) {
    const std::string& why = found.status().message();
    if (std::exchange(failure_, why) == why) return;
    return log(Level::Warning, "cluster.discovery",
               {{"error", why}, {"effect", "the endpoints of before stay in use"}});
  }
  failure_.clear();
  if (std::exchange(endpoints_, *found) == *found) return;
  log(Level::Info, "cluster.discovery", {{"etcd", fmt::format("{}", fmt::join(*found, ","))}});
  found_(found.take());
}

}  // namespace perennial::perenniald
