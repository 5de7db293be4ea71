#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/config/cluster_config.h"
#include "cmd/perenniald/config/field.h"
#include "cmd/perenniald/config/listener_config.h"
#include "engine/types/extension.h"
#include "engine/types/job_fields.h"
#include "engine/types/status.h"
#include "store/types/group_access.h"
#include "store/types/options.h"

// The server's settings. One table lists all of them. Reading a file, --print-config and the test
// of etc/perennial.yaml use that table.
namespace perennial::perenniald {

// From which clients the command `checkpoint` is accepted: those on the same machine, or all.
enum class CheckpointFrom : uint8_t { Local, Any };
// How lines of the log are written.
enum class LogFormat : uint8_t { Logfmt, Json };
using access::AdminOn;
using store::GroupAccess;

// A pattern, and the name under which the tubes that fit it are summed up.
using TubeGroups = std::vector<std::pair<std::string, std::string>>;

struct Config {
  std::string data_dir;
  std::vector<std::string> listen;  // Each is valid for common::parse_address.
  std::vector<ListenerConfig> listeners;
  uint16_t port;
  std::string user;
  std::vector<access::User> users;  // Without those of users_file.
  std::string users_file;           // Empty: there is none.
  std::string http_listen;          // Empty: there is none. Else valid for http_address().
  std::string http_hosts;           // Names with commas between them.
  uint64_t http_hsts_seconds;
  std::vector<std::string> http_proxies;  // Addresses, networks, or unix_proxies.
  uint64_t http_connections_max;
  uint64_t http_connections_per_address_max;
  // Patterns of access::fits_pattern().
  std::vector<std::string> metrics_tubes;
  uint64_t metrics_tubes_max;
  TubeGroups metrics_tube_groups;
  std::vector<std::string> metrics_tube_histograms;
  bool auth_plaintext;
  store::Durability durability;
  uint64_t sync_interval_ms;
  uint64_t sync_idle_ms;
  ExtensionSet extensions;
  bool stats_quotes;
  uint64_t job_bytes_max;
  uint64_t connections_max;
  uint64_t connections_per_address_max;
  uint64_t jobs_max;
  uint64_t tubes_max;
  uint64_t memory_bytes_max;
  uint64_t watched_max;
  uint64_t reserved_max;
  uint64_t keys_max;
  uint64_t settings_max;
  uint64_t schedules_max;
  AdminOn admin_on;
  GroupAccess data_group_access;
  std::vector<TubeDefaults> tubes;
  uint64_t pipeline_bytes_max;
  uint64_t output_bytes_max;
  uint64_t output_total_bytes_max;
  uint64_t pending_bytes_max;
  uint64_t batch_bytes_max;
  uint64_t transitions_per_turn_max;
  uint64_t body_cache_bytes;
  uint64_t log_bytes_max;
  uint64_t low_water_bytes;
  uint64_t low_water_files;
  uint64_t ballast_bytes;
  uint64_t open_bytes_min;
  uint64_t scrub_bytes_per_second;
  uint64_t stall_seconds_max;
  uint64_t turn_seconds_max;
  uint64_t clock_behind_seconds_max;
  uint64_t clock_ahead_days_max;
  bool accept_clock;
  std::string checkpoint_dir;  // Empty: `checkpoints` in the data directory.
  uint64_t checkpoint_every_s;
  uint64_t checkpoint_keep;
  CheckpointFrom checkpoint_from;
  uint64_t tcp_keepalive_s;
  uint64_t tcp_user_timeout_s;
  uint64_t tls_handshake_ms;
  uint64_t tls_handshakes_per_turn;
  uint64_t tls_handshakes_pending_max;
  uint64_t tls_handshakes_per_address_max;
  bool io_uring;
  std::optional<uint64_t> io_threads;  // None: as many as suit the processors.
  bool core_dumps;
  uint64_t verbosity;
  LogFormat log_format;
  ClusterConfig cluster;
  // A flag and no setting: a value that stays in a file would hide later damage.
  store::Recover recover;
  // A flag, too: in a file that production reads it would be a trap. The data directory is thrown
  // away at the end, and data_dir is how it will be named: XXXXXX stands for its last part.
  bool is_ephemeral = false;
};

// All settings, in the order in which they are printed. Their object is a Config.
ConfigFields config_fields();
// REQUIRES: the table has this key.
const ConfigField& config_field(std::string_view key);

Config default_config();

// Sets the options of the layers that have a setting.
void set_layer_options(const Config& config, LayerOptions& layers);

// Reads YAML over `config`. Returns every problem, each with `name`, its line and its key. If the
// file has `cluster` and no batch_bytes_max, that is lowered to cluster_batch_bytes_max.
Problems read_config(Config& config, std::string_view yaml, std::string_view name);
// Reads a list of users.
Problems read_users(std::vector<access::User>& users, std::string_view yaml, std::string_view name);
// The same as read_config() with the content of a file.
Problems read_config_file(Config& config, const std::string& path);

// Returns every problem of settings that are valid without a cluster and not within one. All of a
// configuration must have been read, and its flags.
Problems check_cluster_limits(const Config& config);

// Reads a file of users, which has the form of the setting `users`. Returns every problem, among
// them that others than its owner may read it.
Problems read_users_file(std::vector<access::User>& users, const std::string& path);

// The member of http_proxies that stands for whoever comes over a unix socket.
inline constexpr std::string_view unix_proxies = "unix";

// The names of http_hosts.
std::vector<std::string> http_hosts(const Config& config);

// Returns the configuration as a file, from which read_config() reads the same configuration.
std::string print_config(const Config& config);

// The names of the settings that differ and that a reload does not use, in the order of the table.
// Those of the section `cluster` are "cluster.KEY".
std::vector<std::string> settings_to_restart(const Config& running, const Config& read);

// The value of one key: a single one as text, others as YAML.
std::string config_text(const Config& config, const ConfigField& field);
// The highest value, in the same form. REQUIRES: the setting is bounded.
std::string highest_text(const ConfigField& field);
// All users as one line of YAML.
std::string users_text(const std::vector<access::User>& users);

}  // namespace perennial::perenniald
