#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/types/status.h"
#include "store/types/options.h"

// The server's settings. One table names them all: reading a file, --print-config and the test of
// etc/perennial.yaml go through it.
namespace perennial::perenniald {

// Whose command `checkpoint` is taken: that of clients on the same machine, or anyone's.
enum class CheckpointFrom : uint8_t { Local, Any };

struct Config {
  std::string data_dir;
  std::vector<std::string> listen;  // Each fits common::parse_address.
  uint16_t port;
  std::string user;
  store::Durability durability;
  uint64_t sync_interval_ms;
  uint64_t sync_idle_ms;
  uint64_t job_bytes_max;
  uint64_t connections_max;
  uint64_t jobs_max;
  uint64_t tubes_max;
  uint64_t memory_bytes_max;
  uint64_t watched_max;
  uint64_t reserved_max;
  uint64_t pipeline_bytes_max;
  uint64_t output_bytes_max;
  uint64_t output_total_bytes_max;
  uint64_t pending_bytes_max;
  uint64_t batch_bytes_max;
  uint64_t moves_per_turn_max;
  uint64_t body_cache_bytes;
  uint64_t log_bytes_max;
  uint64_t low_water_bytes;
  uint64_t ballast_bytes;
  uint64_t open_bytes_min;
  uint64_t stall_seconds_max;
  std::string checkpoint_dir;  // Empty: `checkpoints` in the data directory.
  uint64_t checkpoint_every_s;
  uint64_t checkpoint_keep;
  CheckpointFrom checkpoint_from;
  uint64_t tcp_keepalive_s;
  uint64_t tcp_user_timeout_s;
  bool core_dumps;
  uint64_t verbosity;
  // A flag only, and no setting: one that stays in a file would hide the next damage.
  store::Recover recover;
};

using ConfigMember = std::variant<uint64_t Config::*, uint16_t Config::*, std::string Config::*,
                                  std::vector<std::string> Config::*, store::Durability Config::*,
                                  CheckpointFrom Config::*, bool Config::*>;

// How a value is written, and with it what is accepted.
enum class ConfigUnit : uint8_t { Text, Addresses, Port, Durability, From, Switch, Count, Bytes };

struct LayerOptions;

// Where a setting's default is written, and which option of a layer it sets: config_origin.h.
struct ConfigOrigin {
  std::string_view text;  // The default, as it is written in the file, unless a layer has it.
  // Null: the server itself reads the setting, and no layer below.
  void (*to_layers)(const Config&, LayerOptions&);
  // Takes over the default, which is the initialiser of the layer's option. Null: it is `text`.
  void (*from_layers)(const LayerOptions&, Config&);
};

// The flag that sets it, too.
struct ConfigFlag {
  std::string_view names = {};  // "-b,--data-dir". Empty: there is none.
  std::string_view type = {};
  std::string_view help = {};  // {0} is the default, and {1} the highest value.
  bool clamps = false;         // To the highest, with a warning, as beanstalkd does.
};

// Everything about one setting.
struct ConfigField {
  std::string_view key;
  ConfigMember member;
  ConfigUnit unit;
  ConfigOrigin origin;
  uint64_t lowest;  // Of a Count and of Bytes; of a Text its length.
  uint64_t highest;
  std::string_view help;
  ConfigFlag flag = {};
};

// In the order in which they are printed.
std::span<const ConfigField> config_fields();
// REQUIRES: there is such a key.
const ConfigField& config_field(std::string_view key);

Config default_config();

// Sets those options of the layers that are settings.
void set_layer_options(const Config& config, LayerOptions& layers);

// What is wrong with a configuration: one line each, ready to be shown.
using Problems = std::vector<std::string>;

// Sets one key from text, as a flag gives it. The message of a failure says what is accepted.
Status set_config(Config& config, const ConfigField& field, std::string_view text);

// Reads YAML over `config`. Every problem is reported, each with `name`, its line and its key.
Problems read_config(Config& config, std::string_view yaml, std::string_view name);
// The same from a file.
Problems read_config_file(Config& config, const std::string& path);

// The configuration as a file that read_config reads as the same.
std::string print_config(const Config& config);

// Whether YAML, as print_config() writes it, gives this text back: it does if it is UTF-8.
bool fits_yaml(std::string_view text);

// The value of one key as it is written in the file.
std::string config_text(const Config& config, const ConfigField& field);
// The highest value, likewise. REQUIRES: it is a Count or Bytes.
std::string highest_text(const ConfigField& field);

}  // namespace perennial::perenniald
