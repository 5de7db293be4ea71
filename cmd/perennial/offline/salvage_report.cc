#include "cmd/perennial/offline/salvage_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {
namespace {

using store::DamagedTable;
using store::Family;
using store::IdList;
using store::Salvaged;
using store::UnreadableRange;

constexpr std::string_view log_is_not_judged =
    "whether the log is whole cannot be said, because the commit row cannot be read";

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(byte));
  return out;
}

uint64_t id_of(std::string_view key) {
  uint64_t id = 0;
  for (size_t i = 0; i < 8; ++i) {
    id = id << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0U);
  }
  return id;
}

// A range ends before its end key; and a key of more than eight bytes lies behind the id that it
// begins with.
std::string keys_text(Family family, const UnreadableRange& range) {
  if (!store::has_ids(family)) {
    return fmt::format("keys from {} to before {}", hex(range.first_key), hex(range.end_key));
  }
  const uint64_t first = id_of(range.first_key) + (range.first_key.size() > 8 ? 1 : 0);
  const bool ends_behind = range.end_key.size() > 8;
  return fmt::format("jobs {} to {}", first, id_of(range.end_key) - (ends_behind ? 0 : 1));
}

std::string table_line(const DamagedTable& table) {
  std::string out = fmt::format("table {} of {} is damaged ({})", table.file, name_of(table.family),
                                table.problem);
  if (table.unreadable.empty()) return out + "; all its rows can be read";
  out += table.entries == 0 ? "; of its rows"
                            : fmt::format("; {} of its {} rows", table.skipped(), table.entries);
  out += " cannot be read:";
  for (const UnreadableRange& range : table.unreadable) {
    out += fmt::format(" bytes {} to {}, {};", range.begin_offset, range.end_offset,
                       keys_text(table.family, range));
  }
  out.pop_back();
  return out;
}

void add_ids(std::vector<std::string>& out, const IdList& ids, std::string_view what) {
  if (ids.count > 0) out.push_back(fmt::format("{} {}: {}", ids.count, what, runs_of_ids(ids)));
}

}  // namespace

std::string runs_of_ids(const IdList& ids, size_t runs_max) {
  std::string out;
  size_t runs = 0;
  for (size_t at = 0; at < ids.ids.size();) {
    size_t end = at + 1;
    while (end < ids.ids.size() && ids.ids[end] == ids.ids[end - 1] + 1) ++end;
    if (runs++ == runs_max) return out + ", ...";
    if (!out.empty()) out += ", ";
    out += fmt::format("{}", ids.ids[at]);
    if (end - at > 1) out += fmt::format("-{}", ids.ids[end - 1]);
    at = end;
  }
  return ids.count > ids.ids.size() ? out + ", ..." : out;
}

std::string lost_commits_text(const Salvaged& salvaged) {
  if (salvaged.commits_lost_first == 0) return {};
  return fmt::format(" (commits {} to {})", salvaged.commits_lost_first,
                     salvaged.commits_lost_last);
}

nlohmann::ordered_json salvaged_json(const Salvaged& salvaged) {
  using nlohmann::ordered_json;
  std::string log_problem = salvaged.log_problem;
  if (!salvaged.log_is_judged) {
    log_problem = std::string(log_is_not_judged) + (log_problem.empty() ? "" : "; ") + log_problem;
  }
  ordered_json out = {{"jobs_kept", salvaged.whole_jobs()},
                      {"jobs_lost", salvaged.lost_jobs()},
                      {"jobs_uncertain", salvaged.uncertain.count},
                      {"uncertain", salvaged.uncertain.ids},
                      {"rows_lost", salvaged.rows_lost.ids},
                      {"bodies_lost", salvaged.bodies_lost.ids},
                      {"rows_older", salvaged.rows_older.ids},
                      {"tubes_renamed", salvaged.tubes_renamed},
                      {"jobs_in_renamed_tubes", salvaged.jobs_in_renamed.ids},
                      {"schedules_lost", salvaged.schedules_lost.names},
                      {"log_problem", log_problem},
                      {"commits_lost", nullptr}};
  if (salvaged.commits_lost_first > 0) {
    out["commits_lost"] = {{"first", salvaged.commits_lost_first},
                           {"last", salvaged.commits_lost_last}};
  }
  return out;
}

std::vector<std::string> damage_lines(const Salvaged& salvaged) {
  std::vector<std::string> out;
  if (!salvaged.manifest_problem.empty()) {
    out.push_back(salvaged.manifest_problem +
                  "; it says which tables there are, so some may be missing that nothing names");
  }
  for (const DamagedTable& table : salvaged.tables) out.push_back(table_line(table));
  if (salvaged.tables_unlisted > 0) {
    out.push_back(fmt::format("{} tables were read that the MANIFEST does not name",
                              salvaged.tables_unlisted));
  }
  if (!salvaged.log_problem.empty()) {
    out.push_back(
        fmt::format("the log cannot be read whole ({}); jobs that were put there may be "
                    "missing, and jobs that were deleted there may be here again",
                    salvaged.log_problem));
  }
  if (!salvaged.log_is_judged) {
    out.push_back(
        std::string(log_is_not_judged) +
        ": jobs that were put last may be missing, and jobs that were deleted last may be "
        "here again");
  }
  add_ids(out, salvaged.rows_lost, "jobs have a body, and their rows cannot be read");
  add_ids(out, salvaged.bodies_lost, "jobs have a row, and their bodies cannot be read");
  add_ids(out, salvaged.uncertain,
          "jobs are kept that may be in another state or deleted, because what is newer cannot be "
          "read");
  add_ids(out, salvaged.rows_older,
          "jobs have a row that a newer one may have replaced, so that their tube, priority and "
          "counters may be older");
  if (!salvaged.checkpoint.empty()) {
    add_ids(out, salvaged.rows_copied,
            fmt::format("jobs have the rows of the checkpoint {}, so that their state, tube, "
                        "priority and counters may be older",
                        salvaged.checkpoint));
    add_ids(out, salvaged.bodies_copied,
            fmt::format("jobs have the bodies of the checkpoint {}, which are what was put",
                        salvaged.checkpoint));
  }
  if (salvaged.tubes_copied > 0) {
    out.push_back(fmt::format("the names of {} tubes are those of the checkpoint {}",
                              salvaged.tubes_copied, salvaged.checkpoint));
  }
  if (salvaged.tubes_renamed > 0) {
    out.push_back(
        fmt::format("the names of {} tubes cannot be read: their {} jobs are in tubes "
                    "with the names tube-NUMBER",
                    salvaged.tubes_renamed, salvaged.jobs_in_renamed.count));
  }
  if (salvaged.meta_rows_dropped > 0) {
    out.push_back(fmt::format("{} pauses or settings of tubes are left out, which are damaged",
                              salvaged.meta_rows_dropped));
  }
  if (salvaged.keys_rebuilt + salvaged.keys_dropped > 0) {
    out.push_back(
        fmt::format("{} keys are made again from the jobs that hold them, and {} are "
                    "left out that no job holds",
                    salvaged.keys_rebuilt, salvaged.keys_dropped));
  }
  if (salvaged.schedules_lost.count > 0) {
    const store::NameList& lost = salvaged.schedules_lost;
    out.push_back(fmt::format(
        "{} schedules are left out, because what they are or how far they are cannot be read, and "
        "they could put jobs twice: {}{}; set them again",
        lost.count, fmt::join(lost.names, ", "), lost.count > lost.names.size() ? ", ..." : ""));
  }
  if (salvaged.notes_lost > 0) {
    out.push_back(fmt::format("{} notes of {} cannot be read, and are left out",
                              salvaged.notes_lost, salvaged.notes + salvaged.notes_lost));
  }
  return out;
}

}  // namespace perennial::tool
