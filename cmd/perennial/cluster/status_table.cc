#include "cmd/perennial/cluster/status_table.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "cmd/common/tool/colours.h"
#include "cmd/common/units.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/table.h"
#include "store/cluster/log_size.h"

namespace perennial::tool {
namespace {

using nlohmann::ordered_json;
using store::cluster::CopyRecord;
using store::cluster::NodeRecord;
using store::cluster::RefusalRecord;
using store::cluster::Role;
using store::etcd::Alarm;
using store::etcd::Failure;
using store::etcd::MemberStatus;

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : printable(text);
}

std::string leader_text(const ClusterState& state) {
  if (state.leader) {
    return fmt::format("{} at {}, epoch {}", printable(state.leader->node),
                       printable(state.leader->client_address), state.leader->epoch);
  }
  return fmt::format("none; the last epoch was {}", state.epoch);
}

std::string log_text(const ClusterState& state) {
  if (state.entries == 0) return fmt::format("empty, after batch {}", with_commas(state.base));
  return fmt::format("{} to {}: {} entries", with_commas(state.first), with_commas(state.last),
                     with_commas(state.entries));
}

std::string clock_text(const ClusterState& state, const NodeRecord& node) {
  const std::optional<int64_t> ahead = state.clock_ahead_s(node);
  return ahead ? fmt::format("{:+} s", *ahead) : "-";
}

std::string node_table(const ClusterState& state) {
  std::vector<TableLine> lines = {{"NODE", "ROLE", "APPLIED", "FLUSHED", "BEHIND", "CLOCK",
                                   "PRIORITY", "FORMAT", "VERSION", "CLIENTS", "PEERS"}};
  for (const NodeRecord& node : state.nodes) {
    lines.push_back(
        {printable(node.node), std::string(name_of(node.role)), with_commas(node.applied),
         with_commas(node.flushed), with_commas(state.behind(node)), clock_text(state, node),
         std::to_string(node.priority), std::to_string(node.format), or_dash(node.version),
         or_dash(node.client_address), or_dash(node.peer_address)});
  }
  for (const CopyRecord& node : state.copies) {
    lines.push_back({printable(node.node), copying_text(node), "-", "-", "-", "-", "-", "-",
                     or_dash(node.version), or_dash(node.client_address),
                     or_dash(node.peer_address)});
  }
  return text_table(lines, {.numbers = 2, .numbers_end = 8});
}

double share_of_quota(const ClusterReport& report, const MemberStatus& status) {
  return static_cast<double>(status.database_bytes) /
         static_cast<double>(std::max<uint64_t>(report.quota_bytes, 1));
}

// The member's own.
std::vector<std::string_view> alarms_of(const MemberStatus& status) {
  std::vector<std::string_view> names;
  for (const Alarm& alarm : status.alarms) {
    if (alarm.member == status.id) names.push_back(name_of(alarm.kind));
  }
  return names;
}

std::string member_table(const ClusterReport& report) {
  std::vector<TableLine> lines = {
      {"MEMBER OF ETCD", "ROLE", "DATABASE", "QUOTA", "ALARMS", "VERSION"}};
  for (const MemberState& member : report.members) {
    const auto* const status = std::get_if<MemberStatus>(&member.status);
    if (status == nullptr) {
      lines.push_back({member.endpoint, "unreachable", "-", "-", "-", "-"});
      continue;
    }
    const bool is_lost = !status->is_leader && !status->has_leader;
    lines.push_back({member.endpoint,
                     status->is_leader ? "leader"
                     : is_lost         ? "no leader"
                                       : "follower",
                     fmt::format("{:.1f} MB", static_cast<double>(status->database_bytes) / 1e6),
                     fmt::format("{:.0f}%", 100 * share_of_quota(report, *status)),
                     or_dash(fmt::format("{}", fmt::join(alarms_of(*status), ","))),
                     or_dash(status->version)});
  }
  return text_table(lines, {.numbers = 2, .numbers_end = 4});
}

// Why the leader takes no puts, if it says so.
std::string puts_problem(const NodeRecord& node) {
  using store::cluster::Puts;
  if (node.role != Role::Leader) return {};
  if (node.puts == store::cluster::puts_name(Puts::Held)) {
    return "puts wait: the log in etcd has reached log_bytes_max, and fewer than copies_min nodes "
           "have its beginning on their disks; bring the standbys back, or lower copies_min";
  }
  if (node.puts == store::cluster::puts_name(Puts::Refused)) {
    return "puts are refused: the database of etcd is above three quarters of etcd_quota_bytes, or "
           "has raised an alarm; etc/docs/cluster.md, \"When etcd is nearly full\"";
  }
  return {};
}

// Where all clocks agree, the cluster's time is what is off: it fell behind while nobody could hand
// it on.
void warn_of_clocks(const ClusterReport& report, std::vector<std::string>& out) {
  const ClusterState& state = report.state;
  // It is known to a second or two.
  const int64_t most = static_cast<int64_t>(report.clock_offset_max_s) + 2;
  std::vector<int64_t> all;
  for (const NodeRecord& node : state.nodes) {
    if (const auto ahead = state.clock_ahead_s(node)) all.push_back(*ahead);
  }
  if (all.empty()) return;
  const auto [least, furthest] = std::ranges::minmax(all);
  if (all.size() > 1 && least > most && furthest - least <= most) {
    return out.push_back(fmt::format(
        "the cluster's time is {} s behind the wall clocks of all nodes, which agree: delays, ttrs "
        "and expiries last as much longer; it stays so until all nodes were stopped for longer "
        "than lease_s: etc/docs/cluster.md, \"Whose clock counts\"",
        least));
  }
  for (const NodeRecord& node : state.nodes) {
    const int64_t ahead = state.clock_ahead_s(node).value_or(0);
    if (std::abs(ahead) <= most) continue;
    out.push_back(fmt::format(
        "the wall clock of node {} is {} s {} the cluster's time (clock_offset_max_s: {}): set the "
        "clock that is wrong",
        printable(node.node), std::abs(ahead), ahead > 0 ? "ahead of" : "behind",
        report.clock_offset_max_s));
  }
}

void warn_of_nodes(const ClusterReport& report, std::vector<std::string>& out) {
  const ClusterState& state = report.state;
  if (state.leader_revision == 0) {
    out.push_back(
        "no node leads, so nothing is served: start the nodes, or read their logs if they run");
  }
  const bool may_any_lead = std::ranges::any_of(
      state.nodes, [&](const NodeRecord& node) { return state.maintenance.may_lead(node); });
  const store::cluster::Maintenance& maintenance = state.maintenance;
  if (maintenance.is_paused()) {
    out.push_back(fmt::format(
        "takeovers are paused for another {}: only node {} may lead; `perennial cluster resume` "
        "ends that",
        duration_text(static_cast<uint64_t>(state.paused_left_s)),
        maintenance.pause ? printable(maintenance.pause->node) : "-"));
  } else if (!state.nodes.empty() && !may_any_lead) {
    out.emplace_back(
        "no node that is there may lead: each has the priority 0 (cluster.priority) or has "
        "resigned; start another one");
  }
  for (const std::string& node : state.repairs) {
    out.push_back(fmt::format(
        "node {} shall get a copy of another node's database, and has not begun: start it if it is "
        "down; it waits where no other node holds as much; `perennial cluster repair {} --end` "
        "takes the request back",
        printable(node), printable(node)));
  }
  for (const auto& [node, left_s] : state.resigned_left_s) {
    out.push_back(fmt::format(
        "node {} has resigned, and does not lead for another {}: `perennial cluster resign {} "
        "--end` takes that back",
        printable(node), duration_text(static_cast<uint64_t>(left_s)), printable(node)));
  }
  if (const size_t elections = state.recent_elections(); elections >= elections_warned) {
    out.push_back(fmt::format(
        "{} nodes were elected in the last ten minutes: each election ends all connections; the "
        "logs of the nodes say why the leaders lost the lead (at=cluster.lost, at=cluster.etcd)",
        elections));
  }
  if (state.nodes.size() < report.copies_min) {
    out.push_back(fmt::format(
        "{} of at least {} nodes are there (copies_min): the log is not trimmed, and above "
        "log_bytes_max puts are refused",
        state.nodes.size(), report.copies_min));
  }
  for (const RefusalRecord& node : state.refusals) {
    out.push_back(fmt::format(
        "node {} was refused, because it holds batch {} and the log in etcd does not ({}): nobody "
        "is elected whose log ends before that batch; recover with the directory of that node "
        "(`perennial cluster recover`), or empty it and start the node, which loses what only it "
        "holds, and needs another node that was not refused",
        printable(node.node), with_commas(node.holds), printable(node.why)));
  }
  warn_of_clocks(report, out);
  std::set<std::string> versions;
  for (const NodeRecord& node : state.nodes) {
    versions.insert(printable(node.version));
    if (node.applied > state.last) {
      out.push_back(fmt::format(
          "node {} holds batch {}, and the log in etcd ends at {}: etcd was restored from an older "
          "snapshot, or its log belongs to another history",
          printable(node.node), with_commas(node.applied), with_commas(state.last)));
    }
    if (node.reaches_leader == false && state.leader) {
      out.push_back(fmt::format(
          "node {} does not reach the leader at its peer_address {}: it would notice the end of "
          "the leader by its lease only; set cluster.peer_address of node {}, or open the way",
          printable(node.node), printable(state.leader->peer_address),
          printable(state.leader->node)));
    }
    if (node.is_damaged) {
      out.push_back(
          fmt::format("the database of node {} is damaged on disk: see at=cluster.damaged in its "
                      "log; it gets a "
                      "copy of another node's as soon as a whole one with a peer_address is there",
                      printable(node.node)));
    }
    if (const std::string why = puts_problem(node); !why.empty()) out.push_back(why);
    if (const std::vector<std::string> names = state.settings_differ(node); !names.empty()) {
      out.push_back(
          fmt::format("settings of node {} are others than the leader's, and clients would meet "
                      "them if it led: "
                      "{}; etc/docs/cluster.md, \"Change settings\"",
                      printable(node.node), printable(fmt::format("{}", fmt::join(names, ", ")))));
    }
    if (!node.has_space) {
      out.push_back(fmt::format(
          "the disk of node {} is nearly full: {}; make space on it", printable(node.node),
          node.role == Role::Leader ? "puts are refused, until a standby that has space takes over"
                                    : "it leads only if no other node can"));
    }
    if (node.role != Role::Leader && state.behind(node) >= entries_behind_max) {
      out.push_back(fmt::format("node {} is {} entries behind the end of the log",
                                printable(node.node), with_commas(state.behind(node))));
    }
  }
  if (versions.size() > 1) {
    out.push_back(fmt::format("the nodes have different versions: {}", fmt::join(versions, ", ")));
  }
}

// An alarm is known to all members, also that of one that cannot be reached.
void warn_of_alarms(const ClusterReport& report, std::vector<std::string>& out) {
  std::map<Alarm, std::string> raised;  // By whom.
  for (const MemberState& member : report.members) {
    const auto* const status = std::get_if<MemberStatus>(&member.status);
    if (status == nullptr) continue;
    for (const Alarm& alarm : status->alarms) {
      std::string& name = raised[alarm];
      if (alarm.member == status->id) name = member.endpoint;
      if (name.empty()) name = fmt::format("member {:x}", alarm.member);
    }
  }
  for (const auto& [alarm, name] : raised) {
    const std::string_view meaning =
        alarm.kind == Alarm::Kind::NoSpace
            ? "etcd takes no entry, so clients wait: etc/docs/cluster.md, \"When etcd is nearly "
              "full\""
            : "it holds something else than the others, and etcd answers nothing: replace that "
              "member";
    out.push_back(
        fmt::format("{} has raised the alarm {}: {}", name, name_of(alarm.kind), meaning));
  }
}

void warn_of_members(const ClusterReport& report, std::vector<std::string>& out) {
  for (const MemberState& member : report.members) {
    if (const auto* const failure = std::get_if<Failure>(&member.status)) {
      out.push_back("a member of etcd does not answer: " + printable(failure->message));
      continue;
    }
    const auto& status = std::get<MemberStatus>(member.status);
    if (!status.is_leader && !status.has_leader) {
      out.push_back(fmt::format("{} has no leader of etcd", member.endpoint));
    }
    if (share_of_quota(report, status) > 0.5) {
      out.push_back(fmt::format(
          "the database of {} has {} of a quota of {} (etcd_quota_bytes): from three quarters on "
          "puts are refused; defragment it with etcdctl defrag",
          member.endpoint, common::format_bytes(static_cast<uint64_t>(status.database_bytes)),
          common::format_bytes(report.quota_bytes)));
    }
  }
}

ordered_json member_json(const ClusterReport& report, const MemberState& member) {
  ordered_json out = {{"endpoint", member.endpoint}};
  const auto* const status = std::get_if<MemberStatus>(&member.status);
  out["reachable"] = status != nullptr;
  if (status == nullptr) {
    out["problem"] = std::get<Failure>(member.status).message;
    return out;
  }
  out["version"] = status->version;
  out["is_leader"] = status->is_leader;
  out["has_leader"] = status->is_leader || status->has_leader;
  out["database_bytes"] = status->database_bytes;
  out["quota_share"] = share_of_quota(report, *status);
  out["alarms"] = alarms_of(*status);
  return out;
}

}  // namespace

std::string copying_text(const CopyRecord& node) {
  if (node.bytes == 0) return "copying";
  const double share = static_cast<double>(node.received_bytes) / static_cast<double>(node.bytes);
  return fmt::format("copying {:.0f}%", 100 * share);
}

std::vector<std::string> cluster_warnings(const ClusterReport& report) {
  std::vector<std::string> out;
  warn_of_nodes(report, out);
  warn_of_alarms(report, out);
  warn_of_members(report, out);
  return out;
}

std::string status_table(const ClusterReport& report) {
  const ClusterState& state = report.state;
  std::string out =
      fmt::format("cluster  {}\nid       {}\nleader   {}\nlog      {}\n\n", report.name,
                  printable(state.id), leader_text(state), log_text(state));
  const bool nobody = state.nodes.empty() && state.copies.empty();
  out += nobody ? "no node is there\n" : node_table(state);
  out += "\n" + member_table(report);
  const std::vector<std::string> warnings = cluster_warnings(report);
  if (!warnings.empty()) out += "\n";
  const std::string what = coloured("warning:", Colour::Yellow, STDOUT_FILENO);
  for (const std::string& warning : warnings) out += what + " " + warning + "\n";
  return out;
}

ordered_json status_json(const ClusterReport& report) {
  const ClusterState& state = report.state;
  ordered_json out = {{"cluster", report.name},
                      {"id", state.id},
                      {"epoch", state.epoch},
                      {"leader", nullptr},
                      {"elections",
                       {{"in_the_last_s", election_window_s},
                        {"count", state.recent_elections()},
                        {"times_ms", state.elections}}},
                      {"log",
                       {{"base", state.base},
                        {"first", state.entries == 0 ? ordered_json() : ordered_json(state.first)},
                        {"last", state.last},
                        {"entries", state.entries}}}};
  if (state.leader) {
    out["leader"] = {{"node", state.leader->node},
                     {"client_address", state.leader->client_address},
                     {"peer_address", state.leader->peer_address},
                     {"epoch", state.leader->epoch},
                     {"puts", nullptr}};
    const NodeRecord* const leading = state.find_node(state.leader->node);
    if (leading != nullptr && !leading->puts.empty()) out["leader"]["puts"] = leading->puts;
  }
  out["nodes"] = ordered_json::array();
  for (const NodeRecord& node : state.nodes) {
    out["nodes"].push_back({{"node", node.node},
                            {"role", name_of(node.role)},
                            {"client_address", node.client_address},
                            {"peer_address", node.peer_address},
                            {"version", node.version},
                            {"format", node.format},
                            {"applied", node.applied},
                            {"flushed", node.flushed},
                            {"behind", state.behind(node)},
                            {"has_space", node.has_space},
                            {"is_damaged", node.is_damaged},
                            {"priority", node.priority},
                            {"settings_differ", state.settings_differ(node)},
                            {"reaches_leader", nullptr},
                            {"clock_ahead_s", nullptr}});
    if (node.reaches_leader) out["nodes"].back()["reaches_leader"] = *node.reaches_leader;
    if (const std::optional<int64_t> ahead = state.clock_ahead_s(node)) {
      out["nodes"].back()["clock_ahead_s"] = *ahead;
    }
  }
  out["copies"] = ordered_json::array();
  for (const CopyRecord& node : state.copies) {
    out["copies"].push_back({{"node", node.node},
                             {"from", node.from},
                             {"client_address", node.client_address},
                             {"peer_address", node.peer_address},
                             {"version", node.version},
                             {"bytes", node.bytes},
                             {"received_bytes", node.received_bytes}});
  }
  out["refused"] = ordered_json::array();
  for (const RefusalRecord& node : state.refusals) {
    out["refused"].push_back(
        {{"node", node.node}, {"version", node.version}, {"holds", node.holds}, {"why", node.why}});
  }
  out["resigned"] = ordered_json::array();
  for (const auto& [node, left_s] : state.resigned_left_s) {
    out["resigned"].push_back({{"node", node}, {"left_s", left_s}});
  }
  out["repairs"] = state.repairs;
  out["paused"] = nullptr;
  if (state.maintenance.pause) {
    out["paused"] = {{"node", state.maintenance.pause->node}, {"left_s", state.paused_left_s}};
  }
  out["members"] = ordered_json::array();
  for (const MemberState& member : report.members) {
    out["members"].push_back(member_json(report, member));
  }
  out["warnings"] = cluster_warnings(report);
  return out;
}

}  // namespace perennial::tool
