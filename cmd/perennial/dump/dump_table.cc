#include "cmd/perennial/dump/dump_table.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {
namespace {

constexpr size_t preview_bytes = 40;
constexpr size_t note_preview_bytes = 100;
constexpr size_t tube_width_max = 30;  // A longer name shifts the rest of its line.
constexpr size_t column = 10;

std::string preview(std::string_view text, size_t bytes_max = preview_bytes) {
  std::string out(text.substr(0, bytes_max));
  for (char& byte : out) {
    if (byte < 0x20 || byte > 0x7e) byte = '.';
  }
  return out;
}

std::string body_text(const DumpBody& body) {
  switch (body.kind) {
    case DumpBody::Kind::Whole:
      return preview(body.bytes);
    case DumpBody::Kind::Damaged:
      return "DAMAGED " + preview(body.bytes);
    case DumpBody::Kind::Missing:
      return "MISSING";
    case DumpBody::Kind::NotAskedFor:
      return "";
  }
  return "";
}

std::string left_text(const JobRow& row, Nanos now) {
  if (row.state != JobState::Delayed) return "-";
  return table_duration(static_cast<Nanos>(row.order) - now);
}

// The totals of one tube or of all tubes.
struct SummaryLine {
  std::string name;
  TubeTotals totals;
};

std::vector<SummaryLine> summary_lines(const Survey& survey) {
  std::vector<SummaryLine> lines;
  SummaryLine all = {.name = "", .totals = {}};
  for (const auto& [id, tube] : survey.tubes()) {
    const uint64_t jobs = tube.job_count();
    if (jobs == 0 && (!tube.pause || !survey.selection().is_everything())) continue;
    lines.push_back({tube.name, tube});
    if (jobs == 0) continue;
    TubeTotals& sum = all.totals;
    sum.oldest = sum.job_count() == 0 ? tube.oldest : std::min(sum.oldest, tube.oldest);
    for (size_t state = 0; state < sum.jobs.size(); ++state) sum.jobs[state] += tube.jobs[state];
    sum.bytes += tube.bytes;
  }
  std::ranges::sort(lines, {}, &SummaryLine::name);
  lines.push_back(std::move(all));
  return lines;
}

std::string age_text(const TubeTotals& totals, Nanos now) {
  return totals.job_count() == 0 ? "-" : table_duration(now - totals.oldest);
}

void print_line(Output& out, const SummaryLine& line, std::string_view name, size_t name_width,
                Nanos now) {
  out.add_left(name, name_width);
  for (const uint64_t jobs : line.totals.jobs) out.add_right(fmt::format(" {}", jobs), column + 1);
  out.add_right(fmt::format(" {}", line.totals.bytes), 16);
  out.add_right(" " + age_text(line.totals, now), column);
  const auto& pause = line.totals.pause;
  out.add_right(pause ? " " + table_duration(pause->until - now) : " -", column);
  out.add("\n");
}

nlohmann::ordered_json line_json(const SummaryLine& line, Nanos now) {
  nlohmann::ordered_json out;
  if (!line.name.empty()) out["tube"] = line.name;
  for (const JobState state : store::job_states) {
    out[std::string(state_name(state))] = line.totals.jobs[static_cast<size_t>(state)];
  }
  out["body_bytes"] = line.totals.bytes;
  if (line.totals.job_count() > 0) {
    out["oldest_age_ns"] = std::max<Nanos>(now - line.totals.oldest, 0);
  }
  if (line.totals.pause) {
    out["pause_left_ns"] = std::max<Nanos>(line.totals.pause->until - now, 0);
  }
  return out;
}

}  // namespace

std::string table_duration(Nanos duration) {
  const int64_t seconds = std::max<Nanos>(duration, 0) / nanos_per_second;
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  if (seconds < 86'400) return fmt::format("{}h{:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d{:02}h", seconds / 86'400, seconds / 3600 % 24);
}

DumpTable::DumpTable(Output& out, const Survey& survey, Nanos now)
    : out_(out),
      now_(now),
      has_body_(!survey.selection().no_body),
      id_width_(std::max<size_t>(2, fmt::format_int(survey.highest_id()).size())),
      tube_width_(4) {
  for (const auto& [id, tube] : survey.tubes()) {
    if (tube.job_count() > 0) tube_width_ = std::max(tube_width_, tube.name.size());
  }
  tube_width_ = std::min(tube_width_, tube_width_max);
}

void DumpTable::header() {
  out_.add_right("id", id_width_);
  out_.add("  ");
  out_.add_left("tube", tube_width_);
  out_.add("  state            pri     age    left         ttr  res/to/rel/bur/kick       bytes");
  out_.add(has_body_ ? "  body\n" : "\n");
}

void DumpTable::job(const JobRow& row, std::string_view tube, const DumpBody& body) {
  out_.add_right(fmt::format("{}", row.id), id_width_);
  out_.add("  ");
  out_.add_left(tube, tube_width_);
  const std::string counters = fmt::format("{}/{}/{}/{}/{}", row.reserves, row.timeouts,
                                           row.releases, row.buries, row.kicks);
  out_.add(fmt::format("  {:<8}  {:>10}  {:>6}  {:>6}  {:>9}s  {:>19}  {:>10}",
                       state_name(row.state), row.priority, table_duration(now_ - row.created),
                       left_text(row, now_), row.ttr_s, counters, row.body_bytes));
  if (has_body_) {
    out_.add("  ");
    out_.add(body_text(body));
  }
  out_.add("\n");
}

void DumpTable::note(JobId /*job*/, const Note& note) {
  out_.add_right("", id_width_ + 2);
  const std::string user = note.user.empty() ? "" : ", by " + preview(note.user, note.user.size());
  out_.add(fmt::format("note {}, attempt {}, {} ago{}: {}\n", note.number, note.attempt,
                       table_duration(now_ - note.time), user,
                       preview(note.text, note_preview_bytes)));
}

void print_summary(Output& out, const Survey& survey, Nanos now) {
  const std::vector<SummaryLine> lines = summary_lines(survey);
  size_t name_width = 5;
  for (const SummaryLine& line : lines) name_width = std::max(name_width, line.name.size());
  name_width = std::min(name_width, tube_width_max);
  out.add_left("tube", name_width);
  for (const JobState state : store::job_states) out.add_right(state_name(state), column + 1);
  out.add_right("bytes", 16);
  out.add_right("oldest", column);
  out.add_right("paused", column);
  out.add("\n");
  for (const SummaryLine& line : lines) {
    print_line(out, line, line.name.empty() ? "all" : line.name, name_width, now);
  }
}

void print_summary_json(Output& out, const Survey& survey, Nanos now) {
  nlohmann::ordered_json tubes = nlohmann::ordered_json::array();
  const std::vector<SummaryLine> lines = summary_lines(survey);
  for (const SummaryLine& line : lines) {
    if (!line.name.empty()) tubes.push_back(line_json(line, now));
  }
  out.add(
      nlohmann::ordered_json({{"tubes", tubes}, {"all", line_json(lines.back(), now)}}).dump(2));
  out.add("\n");
}

}  // namespace perennial::tool
