#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cmd/perenniald/config/cluster_config.h"
#include "cmd/perenniald/config/listener_config.h"
#include "cmd/perenniald/config/user_config.h"
#include "cmd/perenniald/core/client_rights.h"
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
using core::AdminOn;
using store::GroupAccess;

// A pattern, and the name under which the tubes that fit it are summed up.
using TubeGroups = std::vector<std::pair<std::string, std::string>>;

struct Config {
  std::string data_dir;
  std::vector<std::string> listen;  // Each is valid for common::parse_address.
  std::vector<ListenerConfig> listeners;
  uint16_t port;
  std::string user;
  std::vector<core::User> users;  // Without those of users_file.
  std::string users_file;         // Empty: there is none.
  std::string http_listen;        // Empty: there is none. Else valid for http_address().
  std::string http_hosts;         // Names with commas between them.
  uint64_t http_hsts_seconds;
  std::vector<std::string> http_proxies;  // Addresses, networks, or unix_proxies.
  uint64_t http_connections_max;
  uint64_t http_connections_per_address_max;
  // Patterns of core::fits_pattern().
  std::vector<std::string> metrics_tubes;
  uint64_t metrics_tubes_max;
  TubeGroups metrics_tube_groups;
  std::vector<std::string> metrics_tube_histograms;
  bool auth_plaintext;
  store::Durability durability;
  uint64_t sync_interval_ms;
  uint64_t sync_idle_ms;
  ExtensionSet extensions;
  bool stats_quotes = false;
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
  bool core_dumps;
  uint64_t verbosity;
  ClusterConfig cluster;
  // A flag and no setting: a value that stays in a file would hide later damage.
  store::Recover recover;
};

using ConfigMember =
    std::variant<uint64_t Config::*, uint16_t Config::*, std::string Config::*,
                 std::vector<std::string> Config::*, std::vector<ListenerConfig> Config::*,
                 store::Durability Config::*, CheckpointFrom Config::*, AdminOn Config::*,
                 GroupAccess Config::*, std::vector<TubeDefaults> Config::*,
                 std::vector<core::User> Config::*, TubeGroups Config::*, ExtensionSet Config::*,
                 ClusterConfig Config::*, bool Config::*>;

// The type of a value, which decides how it is written and which values are accepted.
enum class ConfigUnit : uint8_t {
  Text,
  Addresses,
  LocalAddress,  // One that only this machine reaches, or nothing.
  Listeners,
  Proxies,   // Addresses and networks, or unix_proxies.
  Patterns,  // Of tubes.
  Groups,    // Names for patterns of tubes.
  Users,
  Port,
  Durability,
  From,
  AdminOn,
  Group,
  Tubes,
  Extensions,
  Cluster,
  Switch,
  Count,
  Bytes
};

struct LayerOptions;

// Where a setting's default is written, and which option of a layer it sets: config_origin.h.
struct ConfigOrigin {
  std::string_view text;  // The default as the file has it; empty if a layer has it.
  // Copies the setting to a layer's option. Null: only the server itself reads the setting.
  void (*to_layers)(const Config&, LayerOptions&);
  // Copies the default from the initialiser of the layer's option. Null: the default is `text`.
  void (*from_layers)(const LayerOptions&, Config&);
};

// The flag that sets the setting as well.
struct ConfigFlag {
  std::string_view names = {};  // "-b,--data-dir". Empty: there is none.
  std::string_view type = {};
  std::string_view help = {};  // {0} is the default, and {1} the highest value.
  bool clamps = false;         // Lower a value to the highest, with a warning, as beanstalkd does.
};

// A row of the table: everything about one setting.
struct ConfigField {
  std::string_view key;
  ConfigMember member;
  ConfigUnit unit;
  ConfigOrigin origin;
  uint64_t lowest;  // Of a Count or Bytes: the value; of a Text: its length.
  uint64_t highest;
  std::string_view help;
  ConfigFlag flag = {};
  std::string_view former_key = {};  // A name that older files may use.
};

// All settings, in the order in which they are printed.
std::span<const ConfigField> config_fields();
// REQUIRES: the table has this key.
const ConfigField& config_field(std::string_view key);

Config default_config();

// Sets the options of the layers that have a setting.
void set_layer_options(const Config& config, LayerOptions& layers);

// What is wrong with a configuration: one line for each problem, ready to be shown.
using Problems = std::vector<std::string>;

// Sets one key from text, as a flag gives it. InvalidArgument: the message says what is accepted.
// An address is added to those that are set already, and so is the name of an extension.
Status set_config(Config& config, const ConfigField& field, std::string_view text);

// Adds a group to the setting metrics_tube_groups. InvalidArgument as in set_config().
Status add_tube_group(TubeGroups& groups, std::string_view pattern, std::string_view name);

// Reads YAML over `config`. Returns every problem, each with `name`, its line and its key. A
// cluster lowers batch_bytes_max, unless that has a value there.
Problems read_config(Config& config, std::string_view yaml, std::string_view name);
// Reads a list of users.
Problems read_users(std::vector<core::User>& users, std::string_view yaml, std::string_view name);
// The same as read_config() with the content of a file.
Problems read_config_file(Config& config, const std::string& path);

// Returns every problem of settings that are valid without a cluster and not within one. All of a
// configuration must have been read, and its flags.
Problems check_cluster_limits(const Config& config);

// Reads a file of users, which has the form of the setting `users`. Returns every problem, among
// them that others than its owner may read it.
Problems read_users_file(std::vector<core::User>& users, const std::string& path);

// The member of http_proxies that stands for whoever comes over a unix socket.
inline constexpr std::string_view unix_proxies = "unix";
inline constexpr size_t proxies_max = 50;

// The names of http_hosts.
std::vector<std::string> http_hosts(const Config& config);

// Returns the configuration as a file, from which read_config() reads the same configuration.
std::string print_config(const Config& config);

// Rejects text that print_config() could not write so that it reads back.
Status check_text(std::string_view text);
// All of them as one line of YAML, as read_config() reads it.
std::string listeners_text(const std::vector<ListenerConfig>& listeners);
std::string patterns_text(const std::vector<std::string>& patterns);
std::string tube_groups_text(const TubeGroups& groups);
std::string users_text(const std::vector<core::User>& users);
std::string cluster_text(const ClusterConfig& cluster);
// Whether YAML, as print_config() writes it, preserves this text. It does if the text is UTF-8.
bool fits_yaml(std::string_view text);

// The names of the settings that differ and that a reload does not use, in the order of the table.
// Those of the section `cluster` are "cluster.KEY".
std::vector<std::string> settings_to_restart(const Config& running, const Config& read);

// The value of one key, as the file has it.
std::string config_text(const Config& config, const ConfigField& field);
// The highest value, in the same form. REQUIRES: the setting is a Count or Bytes.
std::string highest_text(const ConfigField& field);

}  // namespace perennial::perenniald
