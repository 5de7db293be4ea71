#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/flags.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/server/cluster_node.h"
#include "cmd/perenniald/server/tls_reload.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// Reads again what can change while the server runs: the files of TLS and of users, and how a
// cluster's etcd is reached. What cannot be used changes nothing, and is a line in the log.
class SettingsReload {
 public:
  struct Parts {
    Config& config;  // Gets the new settings of etcd.
    core::Core& core;
    TurnClock& clock;
    TlsReload& tls;
    ClusterNode& node;
  };

  // The parts outlive this. `read`: reads the flags and the file of settings. `users_changed` is
  // called when core has other users.
  SettingsReload(Parts parts, std::function<Invocation()> read,
                 std::function<void()> users_changed);

  // Returns what was read, and why it could not be used.
  std::vector<http::FileRead> reload();

  // Whether the files of TLS and of users were good when they were read last.
  bool is_current() const { return users_are_current_ && parts_.tls.is_current(); }
  // When changed files were last put in use; 0: never.
  Nanos reloaded_at() const { return std::max(users_reloaded_at_, parts_.tls.reloaded_at()); }

 private:
  // Each returns why it could not be used. Empty: it is in use.
  std::string reload_users();
  std::string reload_cluster();

  const Parts parts_;
  const std::function<Invocation()> read_;
  const std::function<void()> users_changed_;
  bool users_are_current_ = true;
  Nanos users_reloaded_at_ = 0;
};

}  // namespace perennial::perenniald
