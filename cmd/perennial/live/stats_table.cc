#include "cmd/perennial/live/stats_table.h"

#include <span>

#include <fmt/format.h>

#include "cmd/common/units.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

enum class Unit : uint8_t { Text, Count, Seconds, Microseconds, Bytes };

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
    {"current-jobs-reserved", "reserved"},
    {"current-jobs-delayed", "delayed"},
    {"current-jobs-buried", "buried"},
    {"next-ready-age", "age of the next ready", Unit::Seconds},
    {"total-jobs", "put in all"},
    {"job-timeouts", "timed out in all"},
    {"jobs-damaged", "damaged"},
};
constexpr Row traffic_rows[] = {
    {"cmd-put", "put"},
    {"cmd-reserve", "reserve"},
    {"cmd-reserve-with-timeout", "reserve-with-timeout"},
    {"cmd-delete", "delete"},
    {"cmd-release", "release"},
    {"cmd-bury", "bury"},
    {"cmd-kick", "kick"},
    {"cmd-touch", "touch"},
    {"cmd-peek", "peek"},
    {"cmd-peek-ready", "peek-ready"},
    {"cmd-peek-delayed", "peek-delayed"},
    {"cmd-peek-buried", "peek-buried"},
    {"cmd-use", "use"},
    {"cmd-watch", "watch"},
    {"cmd-ignore", "ignore"},
    {"cmd-pause-tube", "pause-tube"},
    {"cmd-stats", "stats"},
    {"cmd-stats-job", "stats-job"},
    {"cmd-stats-tube", "stats-tube"},
    {"cmd-list-tubes", "list-tubes"},
    {"cmd-list-tube-used", "list-tube-used"},
    {"cmd-list-tubes-watched", "list-tubes-watched"},
};
constexpr Row connection_rows[] = {
    {"current-connections", "open"},      {"current-producers", "producers"},
    {"current-workers", "workers"},       {"current-waiting", "workers waiting"},
    {"total-connections", "open in all"}, {"connections-refused", "of other protocols"},
    {"current-tubes", "tubes"},
};
constexpr Row store_rows[] = {
    {"store-state", "state", Unit::Text},
    {"durability", "durability", Unit::Text},
    {"sync-us-p99", "p99 of a sync", Unit::Microseconds},
    {"batch-jobs-mean", "changes in a sync", Unit::Text},
    {"checkpoint-age", "last checkpoint ago", Unit::Seconds},
    {"binlog-records-written", "records written"},
    {"binlog-records-migrated", "records migrated"},
    {"binlog-oldest-index", "oldest log"},
    {"binlog-current-index", "newest log"},
    {"binlog-max-size", "bound of the log", Unit::Bytes},
};
constexpr Row process_rows[] = {
    {"version", "version", Unit::Text},
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
constexpr Block server_blocks[] = {{"jobs", job_rows},
                                   {"commands", traffic_rows},
                                   {"connections", connection_rows},
                                   {"store", store_rows},
                                   {"process", process_rows}};

constexpr Row client_rows[] = {
    {"current-using", "using it"},
    {"current-watching", "watching it"},
    {"current-waiting", "workers waiting"},
    {"cmd-delete", "delete"},
    {"cmd-pause-tube", "pause-tube"},
    {"pause", "paused for", Unit::Seconds},
    {"pause-time-left", "pause left", Unit::Seconds},
};
constexpr Block tube_blocks[] = {{"jobs", job_rows}, {"clients", client_rows}};

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
};

std::string value_text(const StatsReply& stats, const Row& row) {
  const std::optional<uint64_t> number = stats.number(row.key);
  if (row.unit == Unit::Text || !number) return printable(*stats.text(row.key));
  switch (row.unit) {
    case Unit::Seconds:
      return duration_text(*number);
    case Unit::Microseconds:
      return latency_text(*number);
    case Unit::Bytes:
      return common::format_bytes(*number);
    case Unit::Count:
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
  return blocks_text(stats, server_blocks);
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
