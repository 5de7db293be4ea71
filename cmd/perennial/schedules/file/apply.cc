#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/arguments/arguments.h"
#include "cmd/perennial/arguments/consent.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/schedules/file/schedule_changes.h"

namespace perennial::tool {
namespace {

using Kind = ScheduleChange::Kind;

struct ScheduleApplyOptions {
  ServerAddress server = {};
  std::string file;
  bool prune = false;
  bool prune_all = false;
  Consent consent = {};
};

ExtensionSet needed_for(const std::vector<WantedSchedule>& wanted) {
  ExtensionSet needed;
  for (const WantedSchedule& one : wanted) {
    for (const ExtensionRow& row : extension_rows) {
      if (one.needed.allows(row.extension)) needed = needed.with(row.extension);
    }
  }
  return needed;
}

std::vector<std::string> names_of(const std::vector<WantedSchedule>& wanted) {
  std::vector<std::string> names;
  names.reserve(wanted.size());
  for (const WantedSchedule& one : wanted) names.push_back(one.command.name);
  return names;
}

// The names of the server's schedules that are not in the file, in the tubes that are.
Result<std::vector<std::string>> names_to_prune(ServerConnection& server, const ScheduleFile& file,
                                                const ScheduleApplyOptions& options) {
  std::vector<std::string> names;
  if (!options.prune && !options.prune_all) return names;
  const Result<std::vector<StatsReply>> list = ask_schedule_list(server, {});
  if (!list.ok()) return list.status();
  std::set<std::string, std::less<>> kept;
  for (const WantedSchedule& one : file.schedules) kept.insert(one.command.name);
  for (const StatsReply& row : *list) {
    const std::string_view name = row.text("name").value_or("");
    const bool is_of_file = options.prune_all || file.tubes.contains(row.text("tube").value_or(""));
    if (is_of_file && !kept.contains(name)) names.emplace_back(name);
  }
  return names;
}

// A new schedule whose one time has passed is made up for at once.
void name_past(const ScheduleChanges& changes) {
  for (const ScheduleChange& change : changes.all) {
    if (change.kind != Kind::Add) continue;
    const ScheduleOptions& options = *change.wanted->command.options;
    const bool is_missed = options.at && options.at->time <= absl::GetCurrentTimeNanos();
    if (!is_missed || options.missed.jobs == 0) continue;
    std::fflush(stdout);
    complain("schedule apply",
             fmt::format("{}: its time has passed, so its job is put at once; with 'missed: none' "
                         "it is not, where that was more than a minute ago",
                         change.name));
  }
}

// "set 2 schedules and delete 1 schedule at 127.0.0.1:11300".
std::string act_text(const ScheduleChanges& changes, const ServerConnection& server) {
  const uint64_t deleted = changes.count(Kind::Delete);
  const uint64_t set = changes.all.size() - deleted;
  std::string act;
  if (set > 0) act = "set " + count_text(set, "schedule");
  if (set > 0 && deleted > 0) act += " and ";
  if (deleted > 0) act += "delete " + count_text(deleted, "schedule");
  return fmt::format("{} at {}", act, server.address());
}

// Where nobody can be asked, what deletes nothing is done.
Status ask_about(const ScheduleChanges& changes, const ServerConnection& server,
                 const Consent& consent) {
  if (consent.yes || (changes.count(Kind::Delete) == 0 && !has_person())) return {};
  const Result<bool> agreed = ask_person(act_text(changes, server));
  if (!agreed.ok()) return agreed.status();
  return *agreed ? Status() : nothing_changed();
}

struct ApplyError {
  std::string name;
  std::string why;
};

// Those that the server refuses are added to `errors`, and the rest goes on.
Status send_changes(ServerConnection& server, const ScheduleChanges& changes,
                    std::vector<ApplyError>& errors) {
  ScheduleSender sender(server, [&](size_t place, const Status& refused) {
    if (!refused.ok()) errors.push_back({changes.all[place].name, refused.message()});
  });
  for (const ScheduleChange& change : changes.all) {
    const bool is_deleted = change.kind == Kind::Delete;
    Status sent = is_deleted ? sender.erase(change.name)
                             : sender.set(change.wanted->command, change.wanted->body);
    if (!sent.ok()) return sent;
  }
  return sender.flush();
}

nlohmann::ordered_json json_of_changes(const ScheduleChanges& changes, bool dry_run,
                                       const std::vector<ApplyError>& errors) {
  nlohmann::ordered_json out;
  if (dry_run) out["dry_run"] = true;
  out["added"] = out["changed"] = out["deleted"] = nlohmann::ordered_json::array();
  for (const ScheduleChange& change : changes.all) {
    if (change.kind == Kind::Add) out["added"].push_back(change.name);
    if (change.kind == Kind::Delete) out["deleted"].push_back(change.name);
    if (change.kind != Kind::Change) continue;
    nlohmann::ordered_json values;
    for (const ChangedValue& value : change.values)
      values[value.name] = {{"before", value.before}, {"after", value.after}};
    out["changed"].push_back({{"schedule", change.name}, {"values", values}});
  }
  out["unchanged"] = changes.unchanged;
  out["errors"] = nlohmann::ordered_json::array();
  for (const ApplyError& error : errors)
    out["errors"].push_back({{"schedule", error.name}, {"message", error.why}});
  return out;
}

Status finish_apply(const ScheduleChanges& changes, const std::vector<ApplyError>& errors,
                    bool json) {
  if (json) print_result(json_of_changes(changes, false, errors));
  if (!json) {
    for (const ApplyError& error : errors)
      complain("schedule apply", fmt::format("{}: {}", error.name, error.why));
  }
  if (errors.empty()) return {};
  return {StatusCode::Io,
          fmt::format("{} of {} changes failed", errors.size(), changes.all.size())};
}

// perennial schedule apply: makes the schedules of a server those of a file.
Status apply_schedules(const ScheduleApplyOptions& options) {
  const Result<ScheduleFile> file = read_schedule_file(options.file);
  if (!file.ok()) return file.status();
  const std::vector<WantedSchedule>& wanted = file->schedules;
  Result<ServerConnection> server = open_schedules(options.server, needed_for(wanted));
  if (!server.ok()) return server.take_status();
  const auto told = ask_schedules(*server, names_of(wanted));
  if (!told.ok()) return told.status();
  const auto to_delete = names_to_prune(*server, *file, options);
  if (!to_delete.ok()) return to_delete.status();
  const ScheduleChanges changes = compare(wanted, *told, *to_delete);
  const Consent& consent = options.consent;
  if (!consent.json) std::fputs(changes_text(changes).c_str(), stdout);
  if (!consent.json && !is_quiet()) name_past(changes);
  if (consent.dry_run) {
    if (consent.json) print_result(json_of_changes(changes, true, {}));
    return {};
  }
  std::vector<ApplyError> errors;
  if (changes.all.empty()) return finish_apply(changes, errors, consent.json);
  if (Status asked = ask_about(changes, *server, consent); !asked.ok()) return asked;
  if (Status sent = send_changes(*server, changes, errors); !sent.ok()) return sent;
  return finish_apply(changes, errors, consent.json);
}

}  // namespace

Subcommand schedule_apply_command() {
  const auto options = std::make_shared<ScheduleApplyOptions>();
  return {
      .name = "schedule apply",
      .summary = "Make the schedules of a server those of a file",
      .about =
          "The file is YAML: 'schedules' is a list, and each of them has a name, one of 'every', "
          "'cron' and 'at', a 'body' or a 'body_file', and what else 'perennial schedule set' has "
          "flags for; 'priority' is its 'pri'. The path of a body_file begins at the folder of the "
          "file, or at the current folder where the file is standard input. An expression that "
          "begins with '*' or '@' needs quotes, and so does one with a "
          "comma in {}. 'zone' beside 'schedules' is the time zone of each cron expression that "
          "says none; without it, it is UTC.\n\n"
          "It prints what will be done: '+ NAME' is a new schedule, '~ NAME: KEY: OLD -> NEW' a "
          "value that changes, '- NAME' one that is deleted, and '= N unchanged' says of how many "
          "all is as it should be. Those are not sent, so applying a file once more changes "
          "nothing. On a terminal it asks then, unless --yes is given.\n\n"
          "Without 'paused' a schedule stays paused or not, as somebody has set it, and without "
          "'anchor' a period keeps its anchor.\n\n"
          "--prune also deletes schedules that are not in the file, but only of the tubes that "
          "the file names: so each team can have a file of its own. 'tubes' beside 'schedules' is "
          "a "
          "list of such tubes, also of those that have no schedule left. --prune-all deletes them "
          "of all tubes. Both need --yes where there is no terminal.\n\n"
          "Where the server has users, it takes the rights inspect and manage on the tubes.",
      .examples =
          "  perennial schedule apply schedules.yaml\n"
          "  # What would it do?\n"
          "  perennial schedule apply schedules.yaml --prune --dry-run\n"
          "  # From a repository, after each merge:\n"
          "  perennial schedule apply schedules.yaml --prune --yes\n"
          "  envsubst <schedules.yaml.in | perennial schedule apply - --yes\n"
          "  # Such a file:\n"
          "  #   zone: Europe/Berlin\n"
          "  #   tubes: [reports]\n"
          "  #   schedules:\n"
          "  #   - {name: nightly, tube: reports, cron: '0 3 * * 1,3,5', body: report}\n"
          "  #   - {name: ping, tube: reports, every: 5m, jitter: 30s, body: ping}\n",
      .flags = with_server_flags(
          options->server,
          with_consent_flags(
              options->consent,
              {
                  {"FILE", "FILE", "The file; - is standard input", &options->file, true},
                  server_flag(options->server),
                  {"--prune", "",
                   "Delete schedules that are not in the file, of the tubes that it names",
                   &options->prune},
                  {"--prune-all", "", "Delete schedules that are not in the file, of all tubes",
                   &options->prune_all},
              })),
      .run = [options] { return apply_schedules(*options); },
  };
}

}  // namespace perennial::tool
