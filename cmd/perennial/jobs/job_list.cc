#include "cmd/perennial/jobs/job_list.h"

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

template <typename Id, typename State, typename... Values>
std::string line_of(const Id& id, const State& state, const Values&... values) {
  return fmt::format("{:>10} {:<8} {:>10} {:>5} {:>5} {:>5} {:>11} {:>8} {:>8}", id, state,
                     values...);
}

}  // namespace

// The server says only of parked jobs whether they are.
Result<Listing> parse_job_list(std::string_view document) {
  return parse_listing(document, "jobs", "parked");
}

std::string job_list_heading(JobListColumns columns) {
  const std::string line =
      line_of("ID", "STATE", "PRI", "AGE", "LEFT", "TTR", "BYTES", "RESERVES", "ATTEMPTS");
  return line + (columns.tube ? " TUBE" : "") + (columns.ended ? " ENDED    AGO   BY" : "") +
         (columns.note ? " LAST NOTE\n" : "\n");
}

std::string job_list_line(const StatsReply& job, JobListColumns columns, std::string_view note) {
  const auto text = [&job](std::string_view key) { return printable(job.text(key).value_or("?")); };
  // A ready job that no worker gets, which the protocol calls ready.
  const std::string state = job.text("parked") == "true" ? "parked" : text("state");
  const std::string line =
      line_of(text("id"), state, text("pri"), short_duration(job.count("age")),
              short_duration(job.count("time-left")), short_duration(job.count("ttr")),
              with_commas(job.count("bytes")), text("reserves"), text("attempts"));
  const std::string ended =
      columns.ended ? fmt::format(" {:<8} {:<5} {}", text("ended"),
                                  short_duration(job.count("ended-age")), text("ended-by"))
                    : "";
  const std::string tube = columns.tube ? " " + text("tube") : "";
  return fmt::format("{}{}{}{}{}\n", line, tube, ended, note.empty() ? "" : " ", note);
}

}  // namespace perennial::tool
