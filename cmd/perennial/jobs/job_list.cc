#include "cmd/perennial/jobs/job_list.h"

#include <algorithm>

#include <fmt/format.h>

#include "cmd/common/units.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr std::string_view head = "---\ncursor: ";
constexpr std::string_view no_jobs = "jobs: []\n";
constexpr std::string_view some_jobs = "jobs:\n";
constexpr std::string_view job_begin = "- {";
constexpr std::string_view job_end = "}";
constexpr std::string_view parked_field = ", parked: ";

Status garbage(std::string_view line) {
  return {StatusCode::Io, fmt::format("the server sent a list with a line that is none: {:?}",
                                      line.substr(0, line.find('\n')))};
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Removes a line, and returns it without its line feed.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

// Parses "- {id: 7, tube: "mail", ...}". No value holds a comma: a name of a tube has none.
Result<StatsReply> parse_listed_job(std::string_view line) {
  std::string_view fields = line;
  if (!take_prefix(fields, job_begin) || !fields.ends_with(job_end)) return garbage(line);
  fields.remove_suffix(job_end.size());
  std::string document = "---\n";
  for (const char c : fields) document += c == ',' ? '\n' : c;
  // A field begins with the space that was behind the comma.
  for (size_t at = document.find("\n "); at != std::string::npos; at = document.find("\n ", at))
    document.erase(at + 1, 1);
  // The server says only of parked jobs whether they are.
  if (fields.find(parked_field) == std::string_view::npos) document += "\nparked: false";
  return StatsReply::parse(document);
}

template <typename Id, typename State, typename... Values>
std::string line_of(const Id& id, const State& state, const Values&... values) {
  return fmt::format("{:>10} {:<8} {:>10} {:>5} {:>5} {:>5} {:>11} {:>8} {:>8}", id, state,
                     values...);
}

}  // namespace

Result<JobList> parse_job_list(std::string_view document) {
  JobList list;
  std::string_view rest = document;
  if (!take_prefix(rest, head)) return garbage(rest);
  const Result<uint64_t> cursor = common::parse_count(take_line(rest));
  if (!cursor.ok()) return garbage(document);
  list.cursor = *cursor;
  if (rest == no_jobs) return list;
  if (!take_prefix(rest, some_jobs)) return garbage(rest);
  while (!rest.empty()) {
    Result<StatsReply> job = parse_listed_job(take_line(rest));
    if (!job.ok()) return job.take_status();
    list.jobs.push_back(job.take());
  }
  return list;
}

std::string job_list_heading(bool has_tube) {
  const std::string line =
      line_of("ID", "STATE", "PRI", "AGE", "LEFT", "TTR", "BYTES", "RESERVES", "ATTEMPTS");
  return line + (has_tube ? " TUBE\n" : "\n");
}

std::string job_list_line(const StatsReply& job, bool has_tube) {
  const auto text = [&job](std::string_view key) { return printable(job.text(key).value_or("?")); };
  // A ready job that no worker gets, which the protocol calls ready.
  const std::string state = job.text("parked") == "true" ? "parked" : text("state");
  const std::string line =
      line_of(text("id"), state, text("pri"), short_duration(job.count("age")),
              short_duration(job.count("time-left")), short_duration(job.count("ttr")),
              with_commas(job.count("bytes")), text("reserves"), text("attempts"));
  return line + (has_tube ? " " + text("tube") + "\n" : "\n");
}

}  // namespace perennial::tool
