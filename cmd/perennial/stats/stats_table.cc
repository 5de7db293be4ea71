#include "cmd/perennial/stats/stats_table.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/units.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/command.h"

namespace perennial::tool {
namespace {

// Setting: text, and 0 and the empty text are shown as none. Until: seconds, and 0 is never. Since:
// seconds, and -1 is that there was none.
enum class Unit : uint8_t {
  Text,
  Count,
  Seconds,
  Microseconds,
  Bytes,
  Size,
  Setting,
  Until,
  Since
};

struct Row {
  std::string_view key;
  std::string_view label;
  Unit unit = Unit::Count;
};

struct Block {
  std::string_view title;
  std::span<const Row> rows;
};

constexpr Row job_rows[] = {
    {"current-jobs-ready", "ready"},
    {"current-jobs-urgent", "of them urgent"},
    {"current-jobs-parked", "of them parked"},
    {"current-jobs-reserved", "reserved"},
    {"current-jobs-delayed", "delayed"},
    {"current-jobs-buried", "buried"},
    {"next-ready-age", "oldest ready", Unit::Seconds},
    {"total-jobs", "put in all"},
    {"job-timeouts", "timed out in all"},
    {"jobs-dead", "dead in all"},
    {"jobs-expired", "expired in all"},
    {"jobs-duplicate", "duplicates in all"},
    {"current-keys", "keys taken"},
    {"jobs-damaged", "damaged"},
};
// Commands that change jobs come first in their block, and commands that only query numbers or
// names come last.
int part_of(std::string_view word) {
  constexpr std::string_view first[] = {
      "put", "reserve", "reserve-with-timeout", "delete", "release", "bury", "kick", "touch"};
  if (std::ranges::find(first, word) != std::end(first)) return 0;
  return word.starts_with("stats") || word.starts_with("list-") ? 2 : 1;
}

// One row for each counted command. Each part has the order of the table of commands.
std::vector<Row> traffic_rows() {
  std::vector<Row> rows;
  for_each_command([&rows](const auto& row) {
    if (!row.stats_key.empty()) rows.push_back({row.stats_key, row.word()});
  });
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return part_of(row.label); });
  return rows;
}

constexpr Row connection_rows[] = {
    {"current-connections", "open"},      {"current-producers", "producers"},
    {"current-workers", "workers"},       {"current-waiting", "workers waiting"},
    {"total-connections", "open in all"}, {"connections-refused", "of other protocols"},
    {"current-tubes", "tubes"},
};
constexpr Row schedules_rows[] = {
    {"current-schedules", "set"},
    {"schedules-refused", "being refused"},
    {"tzdata", "time zones of", Unit::Text},
};
constexpr Row store_rows[] = {
    {"store-state", "state", Unit::Text},
    {"durability", "durability", Unit::Text},
    {"disk-free-bytes", "free on disk", Unit::Size},
    {"sync-us-p99", "p99 of a sync", Unit::Microseconds},
    {"batch-jobs-mean", "changes in a sync", Unit::Text},
    {"checkpoint-age", "last checkpoint ago", Unit::Since},
    {"binlog-records-written", "records written"},
    {"binlog-records-migrated", "records migrated"},
    {"binlog-oldest-index", "oldest log"},
    {"binlog-current-index", "newest log"},
    {"binlog-max-size", "bound of the log", Unit::Bytes},
};
constexpr Row cluster_rows[] = {
    {"cluster-role", "role", Unit::Text},       {"cluster-epoch", "epoch"},
    {"cluster-lag", "entries behind"},          {"cluster-standbys", "standbys"},
    {"cluster-standby-lag", "standbys behind"},
};
constexpr Row process_rows[] = {
    {"perennial-version", "version", Unit::Text},
    {"version", "version of beanstalkd", Unit::Text},
    {"uptime", "up", Unit::Seconds},
    {"draining", "draining", Unit::Text},
    {"pid", "pid", Unit::Text},
    {"hostname", "host", Unit::Text},
    {"max-job-size", "largest body", Unit::Bytes},
    {"rusage-utime", "user time, s", Unit::Text},
    {"rusage-stime", "system time, s", Unit::Text},
    {"loop-lag-us", "lag of the loop", Unit::Microseconds},
    {"id", "instance", Unit::Text},
    {"os", "kernel", Unit::Text},
    {"platform", "machine", Unit::Text},
};
constexpr Row client_rows[] = {
    {"current-using", "using it"},
    {"current-watching", "watching it"},
    {"current-waiting", "workers waiting"},
    {"cmd-delete", "delete"},
    {"cmd-pause-tube", "pause-tube"},
    {"pause", "paused for", Unit::Seconds},
    {"pause-time-left", "pause left", Unit::Seconds},
};
constexpr Row setting_rows[] = {
    {"tries", "tries", Unit::Setting},
    {"backoff", "back-off, s", Unit::Setting},
    {"dead", "dead jobs go to", Unit::Setting},
    {"expire", "jobs expire after, s", Unit::Setting},
    {"reserved-max", "reserved at once", Unit::Setting},
    {"rate", "rate, jobs:s", Unit::Setting},
    {"draining", "draining", Unit::Text},
    {"keep", "ended jobs kept, s", Unit::Setting},
    {"keep-max", "ended jobs kept", Unit::Setting},
};
constexpr Block tube_blocks[] = {
    {"jobs", job_rows}, {"clients", client_rows}, {"settings", setting_rows}};

constexpr Row one_job_rows[] = {
    {"tube", "tube", Unit::Text},
    {"state", "state", Unit::Text},
    {"pri", "priority", Unit::Text},
    {"age", "age", Unit::Seconds},
    {"delay", "delay", Unit::Seconds},
    {"ttr", "ttr", Unit::Seconds},
    {"time-left", "time left", Unit::Seconds},
    {"reserves", "reserved, times"},
    {"timeouts", "timed out, times"},
    {"releases", "released, times"},
    {"buries", "buried, times"},
    {"kicks", "kicked, times"},
    {"attempts", "failed attempts"},
    {"tries", "tries", Unit::Setting},
    {"backoff", "back-off, s", Unit::Setting},
    {"dead", "when dead, goes to", Unit::Setting},
    {"from", "died in", Unit::Setting},
    {"expire-left", "expires in", Unit::Until},
    {"idp", "key", Unit::Setting},
    {"idp-ttl", "key stays taken", Unit::Seconds},
    {"con", "concurrency key:jobs", Unit::Setting},
    {"parked", "parked", Unit::Text},
    {"restored", "was job", Unit::Setting},
    {"put-at", "put at", Unit::Setting},
    {"put-by", "put by", Unit::Setting},
    {"first-reserved", "first reserved at", Unit::Setting},
    {"schedule", "put by schedule", Unit::Setting},
    {"planned", "planned for", Unit::Setting},
    {"ended", "ended", Unit::Text},
    {"ended-age", "ended ago", Unit::Seconds},
    {"ended-by", "ended by", Unit::Setting},
};

bool is_unset(std::string_view setting) {
  return setting.empty() || setting == "0";
}

std::string value_text(const StatsReply& stats, const Row& row) {
  const std::optional<uint64_t> number = stats.number(row.key);
  if (row.unit == Unit::Setting && is_unset(*stats.text(row.key))) return "-";
  if (row.unit == Unit::Until && *stats.text(row.key) == "0") return "never";
  if (row.unit == Unit::Since && *stats.text(row.key) == "-1") return "none";
  if (row.unit == Unit::Text || !number) return printable(*stats.text(row.key));
  switch (row.unit) {
    case Unit::Seconds:
    case Unit::Until:
    case Unit::Since:
      return duration_text(*number);
    case Unit::Microseconds:
      return latency_text(*number);
    case Unit::Bytes:
      return common::format_bytes(*number);
    case Unit::Size:
      return size_text(*number);
    case Unit::Count:
    case Unit::Setting:
    case Unit::Text:
      break;
  }
  return with_commas(*number);
}

std::string rows_text(const StatsReply& stats, std::span<const Row> rows) {
  std::string out;
  for (const Row& row : rows) {
    if (!stats.text(row.key)) continue;
    out += fmt::format("  {:<22}  {}\n", row.label, value_text(stats, row));
  }
  return out;
}

std::string blocks_text(const StatsReply& stats, std::span<const Block> blocks) {
  std::string out;
  for (const Block& block : blocks) {
    const std::string rows = rows_text(stats, block.rows);
    if (!rows.empty()) out += fmt::format("{}{}\n{}", out.empty() ? "" : "\n", block.title, rows);
  }
  return out;
}

}  // namespace

std::string server_table(const StatsReply& stats) {
  const std::vector<Row> traffic = traffic_rows();
  const Block blocks[] = {{"jobs", job_rows},
                          {"commands", traffic},
                          {"connections", connection_rows},
                          {"schedules", schedules_rows},
                          {"store", store_rows},
                          {"cluster", cluster_rows},
                          {"process", process_rows}};
  return blocks_text(stats, blocks);
}

std::string tube_table(const StatsReply& stats) {
  return fmt::format("tube {}\n\n{}", printable(stats.text("name").value_or("?")),
                     blocks_text(stats, tube_blocks));
}

std::string job_table(const StatsReply& stats) {
  return fmt::format("job {}\n{}", printable(stats.text("id").value_or("?")),
                     rows_text(stats, one_job_rows));
}

}  // namespace perennial::tool
