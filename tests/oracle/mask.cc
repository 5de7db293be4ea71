#include "tests/oracle/mask.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "engine/types/command.h"
#include "wire/stats_rows.h"

namespace perennial::oracle {
namespace {

// How the value of a key is compared.
enum class Rule : unsigned char {
  Exact,
  Hidden,     // The value is not compared.
  ZeroOrNot,  // The value is a running time: only zero or not is compared.
  Unquoted,   // The value has quotes from 1.13 on.
  Ours,       // Only this server has the key.
};

struct Row {
  std::string_view key;
  Rule rule;
};

// cmd-stats is hidden because the test itself sends stats until both servers have completed a step.
constexpr Row rows[] = {
    {"pid", Rule::Hidden},
    {"version", Rule::Hidden},
    {"uptime", Rule::Hidden},
    {"rusage-utime", Rule::Hidden},
    {"rusage-stime", Rule::Hidden},
    {"cmd-stats", Rule::Hidden},
    {"binlog-oldest-index", Rule::Hidden},
    {"binlog-current-index", Rule::Hidden},
    {"binlog-records-written", Rule::Hidden},
    {"binlog-max-size", Rule::Hidden},
    {"file", Rule::Hidden},
    {"age", Rule::Hidden},
    {"time-left", Rule::ZeroOrNot},
    {"pause-time-left", Rule::ZeroOrNot},
    {"name", Rule::Unquoted},
    {"tube", Rule::Unquoted},
    {"hostname", Rule::Unquoted},
    {"os", Rule::Unquoted},
    {"platform", Rule::Unquoted},
};

// Whether beanstalkd does not have this key of stats, stats-tube or stats-job.
bool is_ours(std::string_view key) {
  static const std::set<std::string_view> ours = [] {
    std::set<std::string_view> keys;
    const auto add = [&](const auto& stats_rows) {
      for (const auto& row : stats_rows) keys.insert(row.key);
    };
    add(wire::server_own_rows());
    add(wire::tube_own_rows());
    add(wire::tube_more_rows());
    add(wire::job_more_rows());
    for_each_command([&](const auto& row) {
      if (row.flags.ours) keys.insert(row.stats_key);
    });
    return keys;
  }();
  return ours.contains(key);
}

// The key "id" is a job's number in stats-job, which is compared, and 16 random digits in stats.
Rule rule_of(std::string_view key, bool server) {
  if (key == "id" && server) return Rule::Hidden;
  // Of a tube only this server says whether it is draining.
  if (key == "draining") return server ? Rule::Exact : Rule::Ours;
  const auto row = std::find_if(std::begin(rows), std::end(rows),
                                [&](const Row& candidate) { return candidate.key == key; });
  if (row != std::end(rows)) return row->rule;
  return is_ours(key) ? Rule::Ours : Rule::Exact;
}

std::string masked_line(std::string_view line, bool server) {
  const size_t colon = line.find(": ");
  if (colon == std::string_view::npos) return std::string(line) + "\n";
  const std::string_view key = line.substr(0, colon);
  std::string_view value = line.substr(colon + 2);
  switch (rule_of(key, server)) {
    case Rule::Exact:
      break;
    case Rule::Hidden:
      value = "*";
      break;
    case Rule::ZeroOrNot:
      value = value == "0" ? "0" : "*";
      break;
    case Rule::Unquoted:
      if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"')) {
        value = value.substr(1, value.size() - 2);
      }
      break;
    case Rule::Ours:
      return "";
  }
  return std::string(key) + ": " + std::string(value) + "\n";
}

}  // namespace

std::string masked(std::string_view reply) {
  const size_t start = reply.find("\r\n---\n");
  if (!reply.starts_with("OK ") || start == std::string_view::npos) return std::string(reply);
  const std::string_view count = reply.substr(3, start - 3);
  std::string_view yaml = reply.substr(start + 2);
  if (!yaml.ends_with("\n\r\n")) return std::string(reply);
  yaml.remove_suffix(2);
  const bool server = yaml.find("\nuptime: ") != std::string_view::npos;
  // The byte count was verified when the reply was read. Only its correctness is compared, not its
  // value.
  std::string out = count == std::to_string(yaml.size()) ? "OK *\n" : "OK wrong\n";
  while (!yaml.empty()) {
    const size_t end = yaml.find('\n');
    out += masked_line(yaml.substr(0, end), server);
    yaml.remove_prefix(end + 1);
  }
  return out;
}

std::string_view value_of(std::string_view reply, std::string_view key) {
  const std::string start = "\n" + std::string(key) + ": ";
  const size_t at = reply.find(start);
  if (at == std::string_view::npos) return {};
  const std::string_view value = reply.substr(at + start.size());
  return value.substr(0, value.find('\n'));
}

}  // namespace perennial::oracle
