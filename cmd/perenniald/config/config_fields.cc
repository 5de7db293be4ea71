#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/config/config_origin.h"
#include "cmd/perenniald/config/config_types.h"
#include "engine/types/check.h"

// The table of all settings.
namespace perennial::perenniald {
namespace {

constexpr uint64_t kib = 1ull << 10;
constexpr uint64_t mib = 1ull << 20;
constexpr uint64_t gib = 1ull << 30;
constexpr uint64_t tib = 1ull << 40;
constexpr uint64_t hour_ms = 3'600'000;
constexpr uint64_t year_s = 366ull * 86'400;
constexpr uint64_t uint32_max = 0xffff'ffff;

using engine::Limits;
// clang-format off
constexpr ConfigField setting_rows[] = {
    // key, member and type, origin (the default, and the option of a layer that it sets), lowest,
    // highest, help, flag
    {"data_dir", at<&Config::data_dir>(text_type),
     with_default("perennial-data", store_option<&Config::data_dir, &store::Options::data_dir>()),
     1, 4096,
     "The data directory. Made when it is missing.",
     {"-b,--data-dir", "DIR", "Data directory (default {0}); made when missing"}},
    {"data_group_access", at<&Config::data_group_access>(group_access_type),
     text_default("none"), 0, 0,
     "What the group may do with the data directory: none, read (0640 and 0750), write (0660 and 0770)."},
    {"listen", at<&Config::listen>(addresses_type),
     text_default(""), 0, 0,
     "Addresses: HOST, HOST:PORT, [IPV6]:PORT, unix:PATH. Neither these nor listeners: all.",
     {"-l,--listen", "ADDR",
      "Listen address, repeatable: HOST, HOST:PORT, [IPV6]:PORT or unix:PATH (default every "
      "interface)"}},
    {"listeners", at<&Config::listeners>(listeners_type),
     text_default(""), 0, 0,
     "More addresses, with settings of their own: {address: ..., tls: {certificate: ..., key: ...}}."},
    {"port", at<&Config::port>(port_type),
     text_default("11300"), 0, 0,
     "The port of addresses that name none: a number or a service. 0: any free one.",
     {"-p,--port", "PORT", "Port, or service name, where ADDR names none (default {0})"}},
    {"http_listen", at<&Config::http_listen>(local_address_type),
     text_default(""), 0, 0,
     "Where HTTP is spoken, on this machine: port 11380. Empty: nowhere.",
     {"--http", "ADDR", "Serve console, API, metrics and health over HTTP there, on this machine"}},
    {"http_hosts", at<&Config::http_hosts>(text_type),
     text_default(""), 0, 4096,
     "Names by which browsers call the HTTP port, with commas, besides localhost and addresses."},
    {"http_proxies", at<&Config::http_proxies>(proxies_type),
     text_default(""), 0, 0,
     "Proxies whose X-Forwarded-For and -Proto are believed: addresses, networks such as 10.0.0.0/8, unix."},
    {"http_connections_max", at<&Config::http_connections_max>(count_type),
     text_default("256"), 1, 65'536,
     "Connections to the HTTP ports. Past it one that asks for nothing gives way."},
    {"http_connections_per_address_max", at<&Config::http_connections_per_address_max>(count_type),
     text_default("64"), 1, 65'536,
     "The same from one address of another machine that is no proxy."},
    {"http_hsts_seconds", at<&Config::http_hsts_seconds>(count_type),
     text_default("2592000"), 0, 2 * year_s,
     "How long browsers that came by TLS come by nothing else: Strict-Transport-Security. 0: they forget it."},
    {"metrics_tubes", at<&Config::metrics_tubes>(patterns_type),
     text_default(""), 0, 0,
     "Tubes that have metrics of their own before others: a list of patterns such as mail-*."},
    {"metrics_tubes_max", at<&Config::metrics_tubes_max>(count_type),
     text_default("1000"), 0, 10'000,
     "The most tubes with metrics of their own. Past it, they are summed up as {other}."},
    {"metrics_tube_groups", at<&Config::metrics_tube_groups>(tube_groups_type),
     text_default(""), 0, 0,
     "Tubes that are summed up in the metrics, by pattern: {mail-*: mail}."},
    {"metrics_tube_histograms", at<&Config::metrics_tube_histograms>(patterns_type),
     text_default(""), 0, 0,
     "Tubes whose waits and runs have histograms of their own, 100 at most: a list of patterns."},
    {"user", at<&Config::user>(text_type),
     text_default(""), 0, 256,
     "Become this user, with its groups, once the addresses are bound. Empty: stay.",
     {"-u,--user", "USER", "Become this user and its groups once the addresses are bound"}},
    {"users", at<&Config::users>(users_type),
     text_default(""), 0, 0,
     "Who may do what: {name: ..., tokens: [...], grants: [{tubes: [...], verbs: [...]}]}. None: all."},
    {"users_file", at<&Config::users_file>(text_type),
     text_default(""), 0, 4096,
     "A file with more users, read again by SIGHUP. Mode 0600 or 0440. Empty: none."},
    {"auth_plaintext", at<&Config::auth_plaintext>(switch_type),
     text_default("false"), 0, 0,
     "Whether tokens are accepted from other machines without TLS."},
    {"durability", at<&Config::durability>(durability_type),
     store_option<&Config::durability, &store::Options::durability>(), 0, 0,
     "When answers leave: commit, after the sync; interval or never, before it."},
    {"sync_interval_ms", at<&Config::sync_interval_ms>(count_type),
     store_option<&Config::sync_interval_ms, &store::Options::sync_interval_ms>(), 1, hour_ms,
     "In mode interval: the longest time between a write and its sync."},
    {"sync_idle_ms", at<&Config::sync_idle_ms>(count_type),
     core_option_ms<&Config::sync_idle_ms, &core::Options::sync_idle>(), 1, hour_ms,
     "How long what nobody was promised, such as a reservation, may wait to be written."},
    {"job_bytes_max", at<&Config::job_bytes_max>(bytes_type),
     core_option<&Config::job_bytes_max, &core::Options::job_bytes_max>(), 1, gib,
     "The largest body. Past it: JOB_TOO_BIG.",
     {"-z,--job-bytes-max", "BYTES", "Largest job (default {0}, at most {1})", true}},
    {"connections_max", at<&Config::connections_max>(count_type),
     text_default("0"), 0, 1ull << 24,
     "Past it, clients wait to be accepted. 0: three quarters of the file descriptors."},
    {"connections_per_address_max", at<&Config::connections_per_address_max>(count_type),
     text_default("0"), 0, 1ull << 24,
     "Of them, from one address and not signed in. Past it: closed. 0: half of all."},
    {"jobs_max", at<&Config::jobs_max>(count_type),
     engine_option<&Config::jobs_max, &Limits::jobs_max>(), 0, 1'000'000'000'000,
     "The most jobs. Past it: OUT_OF_MEMORY. 0: no limit."},
    {"tubes_max", at<&Config::tubes_max>(count_type),
     engine_option<&Config::tubes_max, &Limits::tubes_max>(), 1, tube_id_limit,
     "The most tubes. Past it: OUT_OF_MEMORY."},
    {"memory_bytes_max", at<&Config::memory_bytes_max>(bytes_type),
     core_option<&Config::memory_bytes_max, &core::Options::memory_bytes_max>(), 0, 1024 * tib,
     "Memory for jobs and clients, past which put gets OUT_OF_MEMORY. 0: no limit."},
    {"watched_max", at<&Config::watched_max>(count_type),
     engine_option<&Config::watched_max, &Limits::watched_max>(), 1, uint32_max,
     "The most tubes that one connection watches. Past it: OUT_OF_MEMORY."},
    {"reserved_max", at<&Config::reserved_max>(count_type),
     engine_option<&Config::reserved_max, &Limits::reserved_max>(), 1, uint32_max,
     "The most jobs that one connection holds. Past it: OUT_OF_MEMORY."},
    {"extensions", at<&Config::extensions>(extensions_type),
     core_option<&Config::extensions, &core::Options::extensions>(), 0, 0,
     "Which commands beyond beanstalkd's clients may use: all, none, or a list of names."},
    {"stats_quotes", at<&Config::stats_quotes>(switch_type),
     core_option<&Config::stats_quotes, &core::Options::stats_quotes>(), 0, 0,
     "Whether names in statistics stand in quotes, as in beanstalkd 1.13; in 1.12 they do not."},
    {"keys_max", at<&Config::keys_max>(count_type),
     engine_option<&Config::keys_max, &Limits::keys_max>(), 0, 1'000'000'000'000,
     "The most keys of unique jobs. Past it: OUT_OF_MEMORY. 0: no limit."},
    {"settings_max", at<&Config::settings_max>(count_type),
     engine_option<&Config::settings_max, &Limits::settings_max>(), 0, 10'000'000,
     "The most tubes with settings of their own (set-tube). Past it: OUT_OF_MEMORY."},
    {"schedules_max", at<&Config::schedules_max>(count_type),
     engine_option<&Config::schedules_max, &Limits::schedules_max>(), 0, 10'000'000,
     "The most schedules (set-schedule). Past it: OUT_OF_MEMORY."},
    {"tubes", at<&Config::tubes>(tubes_type),
     engine_option<&Config::tubes, &Limits::tube_defaults>(), 0, 0,
     "Settings of tubes by name or beginning, which set-tube overrides: {mail-*: {tries: 5}}."},
    {"admin_on", at<&Config::admin_on>(admin_on_type),
     core_option<&Config::admin_on, &core::Options::admin_on>(), 0, 0,
     "Where flush-tube, move-tube, set-tube, drain and undrain are heard: any, unix, none."},
    {"pipeline_bytes_max", at<&Config::pipeline_bytes_max>(bytes_type),
     core_option<&Config::pipeline_bytes_max, &core::Options::pipeline_bytes_max>(), kib, gib,
     "Bytes kept of commands that wait behind one that blocks. Past it: not read."},
    {"output_bytes_max", at<&Config::output_bytes_max>(bytes_type),
     core_option<&Config::output_bytes_max, &core::Options::output_bytes_max>(), 64 * kib, tib,
     "Answers kept for a client that does not read. Past it: not read."},
    {"output_total_bytes_max", at<&Config::output_total_bytes_max>(bytes_type),
     core_option<&Config::output_total_bytes_max, &core::Options::output_total_bytes_max>(),
     mib, 1024 * tib,
     "The same of all clients. Past it: those with 64KiB and more are not read."},
    {"pending_bytes_max", at<&Config::pending_bytes_max>(bytes_type),
     core_option<&Config::pending_bytes_max, &core::Options::pending_bytes_max>(), mib, tib,
     "Bytes on their way to the disk. Past it: connections that put are not read."},
    {"batch_bytes_max", at<&Config::batch_bytes_max>(bytes_type),
     core_option<&Config::batch_bytes_max, &core::Options::batch_bytes_max>(), 64 * kib, gib,
     "Bytes written in one go. A larger job travels alone."},
    {"transitions_per_turn_max", at<&Config::transitions_per_turn_max>(count_type),
     engine_option<&Config::transitions_per_turn_max, &Limits::transitions_per_turn_max>(), 1, 10'000'000,
     "Jobs moved at once by one kick, one closed connection or one moment.", {}, "moves_per_turn_max"},
    {"body_cache_bytes", at<&Config::body_cache_bytes>(bytes_type),
     core_option<&Config::body_cache_bytes, &core::Options::body_cache_bytes>(), 0, tib,
     "Memory for bodies of new jobs, which saves reading them from the disk."},
    {"log_bytes_max", at<&Config::log_bytes_max>(bytes_type),
     store_option<&Config::log_bytes_max, &store::Options::log_bytes_max>(), 8 * mib, 16 * gib,
     "The bound of the write-ahead log, read whole at a start after a crash."},
    {"low_water_bytes", at<&Config::low_water_bytes>(bytes_type),
     store_option_or_derived<&Config::low_water_bytes, &store::Options::low_water_bytes>(),
     0, 1024 * tib,
     "With less disk space free, put gets OUT_OF_MEMORY. 0: 640MiB, or as the log and disk are."},
    {"low_water_files", at<&Config::low_water_files>(count_type),
     store_option_or_derived<&Config::low_water_files, &store::Options::low_water_files>(),
     0, 1'000'000'000,
     "The same for files that the disk can still hold. 0: 1000, or a quarter of all."},
    {"ballast_bytes", at<&Config::ballast_bytes>(bytes_type),
     store_option_or_derived<&Config::ballast_bytes, &store::Options::ballast_bytes>(), 0, tib,
     "Space kept for deletes in a full disk. 0: twice log_bytes_max or an eighth of the disk."},
    {"open_bytes_min", at<&Config::open_bytes_min>(bytes_type),
     store_option_or_derived<&Config::open_bytes_min, &store::Options::open_bytes_min>(), 0, tib,
     "The free space without which it does not start. 0: 16MiB or a 256th of the disk."},
    {"scrub_bytes_per_second", at<&Config::scrub_bytes_per_second>(bytes_type),
     with_default("2MiB", store_option<&Config::scrub_bytes_per_second, &store::Options::scrub_bytes_per_second>()),
     0, gib,
     "How fast all tables are read again and again, to find damage early. 0: never."},
    {"stall_seconds_max", at<&Config::stall_seconds_max>(count_type),
     text_default("30"), 0, 86'400,
     "How long one write or sync may take before the process ends, with 70. 0: for ever."},
    {"turn_seconds_max", at<&Config::turn_seconds_max>(count_type),
     text_default("5"), 0, 86'400,
     "A longer turn of the loop is logged; a leader of a cluster ends, with 76. 0: never."},
    {"clock_behind_seconds_max", at<&Config::clock_behind_seconds_max>(count_type),
     text_default("60"), 0, year_s,
     "How far the clock may be behind the newest batch before a start logs it."},
    {"clock_ahead_days_max", at<&Config::clock_ahead_days_max>(count_type),
     text_default("60"), 0, 36'500,
     "How far it may be ahead before a start that would end something refuses. 0: any time."},
    {"accept_clock", at<&Config::accept_clock>(switch_type),
     text_default("false"), 0, 0,
     "Whether a start goes on however far the clock is ahead. Better once, as --accept-clock."},
    {"checkpoint_dir", at<&Config::checkpoint_dir>(text_type),
     text_default(""), 0, 4096,
     "Where checkpoints go: on the data directory's file system. Empty: its 'checkpoints'."},
    {"checkpoint_every_s", at<&Config::checkpoint_every_s>(count_type),
     text_default("0"), 0, year_s,
     "Seconds from one scheduled checkpoint to the next. 0: only when a client asks."},
    {"checkpoint_keep", at<&Config::checkpoint_keep>(count_type),
     text_default("3"), 0, 1'000'000,
     "How many the schedule keeps: after each of its own the oldest go. 0: all."},
    {"checkpoint_from", at<&Config::checkpoint_from>(checkpoint_from_type),
     text_default("local"), 0, 0,
     "Who may ask for one: local, clients on this machine; any, everyone."},
    {"tcp_keepalive_s", at<&Config::tcp_keepalive_s>(count_type),
     text_default("60"), 0, 32'767,
     "A silent client is asked whether it is there, and gone if four asks stay unanswered. "
     "0: off."},
    {"tcp_user_timeout_s", at<&Config::tcp_user_timeout_s>(count_type),
     text_default("0"), 0, 86'400,
     "How long a client may leave bytes or asks unanswered, or bytes unread. 0: the system's."},
    {"tls_handshake_ms", at<&Config::tls_handshake_ms>(count_type),
     text_default("10000"), 100, hour_ms,
     "How long a client may take for its TLS handshake. Past it: closed."},
    {"tls_handshakes_per_turn", at<&Config::tls_handshakes_per_turn>(count_type),
     text_default("4"), 1, 10'000,
     "How many TLS handshakes go on before other clients are served."},
    {"tls_handshakes_pending_max", at<&Config::tls_handshakes_pending_max>(count_type),
     text_default("1000"), 1, 1ull << 24,
     "TLS handshakes at once. Past it one gives way that sends nothing."},
    {"tls_handshakes_per_address_max", at<&Config::tls_handshakes_per_address_max>(count_type),
     text_default("250"), 1, 1ull << 24,
     "The same from one address. Past it the oldest of that address gives way."},
    {"io_uring", at<&Config::io_uring>(switch_type),
     text_default("true"), 0, 0,
     "Whether several clients are read, or answered, with one call, if the kernel allows io_uring."},
    {"io_threads", at<&Config::io_threads>(auto_count_type),
     text_default("auto"), 0, 64,
     "Threads that move the bytes of clients, and do what TLS costs. 0: the thread of the loop does. "
     "auto: one for every four processors, 8 at most; none where there are one or two.",
     {"--io-threads", "N", "Threads that move the bytes of clients (default {0}, by the processors)"}},
    {"core_dumps", at<&Config::core_dumps>(switch_type),
     text_default("false"), 0, 0,
     "Whether a crash may leave a core dump, which holds the bodies of jobs."},
    {"verbosity", at<&Config::verbosity>(count_type),
     text_default("0"), 0, 3,
     "0: what an operator needs. 1 and more: every connection too."},
    {"log_format", at<&Config::log_format>(log_format_type),
     text_default("logfmt"), 0, 0,
     "How lines of the log are written: logfmt or json."},
    {"cluster", at<&Config::cluster>(cluster_type),
     text_default(""), 0, 0,
     "The cluster that this server is a node of: {name: ..., node: ..., etcd: [...], ...}. {}: none."},
};
// clang-format on

}  // namespace

ConfigFields config_fields() {
  return setting_rows;
}

const ConfigField& config_field(std::string_view key) {
  const ConfigField* const found = find_field(setting_rows, key);
  CHECK(found != nullptr);
  return *found;
}

Config default_config() {
  Config config{};
  const LayerOptions layers;
  for (const ConfigField& field : setting_rows) {
    if (field.origin.from_layers != nullptr) {
      field.origin.from_layers(layers, config);
    } else if (field.type().shape == Shape::Value) {
      CHECK(set_value(field, &config, field.origin.text).ok());
    }
  }
  return config;
}

void set_layer_options(const Config& config, LayerOptions& layers) {
  for (const ConfigField& field : setting_rows) {
    if (field.origin.to_layers != nullptr) field.origin.to_layers(config, layers);
  }
  layers.store.recover = config.recover;
}

}  // namespace perennial::perenniald
