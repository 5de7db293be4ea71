#include "cmd/perenniald/server/settings_reload.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perenniald/process/log.h"
#include "cmd/perenniald/server/access_control.h"

namespace perennial::perenniald {

SettingsReload::SettingsReload(Parts parts, std::function<Invocation()> read,
                               std::function<void()> users_changed)
    : parts_(parts), read_(std::move(read)), users_changed_(std::move(users_changed)) {}

std::vector<http::FileRead> SettingsReload::reload() {
  std::vector<http::FileRead> read;
  for (auto& [listener, status] : parts_.tls.reload_all()) {
    read.push_back({.name = std::move(listener), .error = status.ok() ? "" : status.message()});
  }
  if (!parts_.config.users_file.empty()) {
    read.push_back({.name = parts_.config.users_file, .error = reload_users()});
  }
  if (parts_.node.is_joined()) {
    read.push_back({.name = "cluster", .error = reload_cluster()});
    parts_.node.tell_settings(parts_.core.gate().users().get());  // Users, and the files of peers.
  }
  return read;
}

std::string SettingsReload::reload_cluster() {
  const Invocation read = read_();
  if (!read.problems.empty()) {
    std::string error = fmt::format("{}", fmt::join(read.problems, "; "));
    log(Level::Error, "config.reload", {{"error", error}});
    return error;
  }
  const std::vector<std::string> others = settings_to_restart(parts_.config, read.config);
  if (!others.empty()) {
    log(Level::Warning, "config.reload",
        {{"needs_restart", fmt::format("{}", fmt::join(others, ","))}});
  }
  if (!read.config.cluster.is_set()) return {};
  ClusterConfig& cluster = parts_.config.cluster;
  set_etcd_settings(cluster, read.config.cluster);
  const std::string& domain = cluster.etcd_discovery;
  log(Level::Info, "config.reload",
      {{"etcd", domain.empty() ? fmt::format("{}", fmt::join(cluster.etcd, ",")) : domain}});
  const Status used = parts_.node.reconfigure();
  return used.ok() ? "" : used.message();
}

std::string SettingsReload::reload_users() {
  Problems problems;
  std::shared_ptr<const access::Users> users = load_users(parts_.config, problems);
  users_are_current_ = users != nullptr;
  if (users == nullptr) {
    std::string error = fmt::format("{}", fmt::join(problems, "; "));
    log(Level::Error, "users.reload", {{"file", parts_.config.users_file}, {"error", error}});
    return error;
  }
  log(Level::Info, "users.reload",
      {{"file", parts_.config.users_file}, {"users", fmt::format("{}", users->all().size())}});
  parts_.core.set_users(std::move(users));
  users_changed_();
  users_reloaded_at_ = parts_.clock.now();
  return {};
}

}  // namespace perennial::perenniald
