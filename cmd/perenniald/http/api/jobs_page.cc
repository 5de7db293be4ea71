#include "cmd/perenniald/http/api/jobs_page.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/job_view.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"

namespace perennial::http {
namespace {

class JobsPage final : public Answer {
 public:
  JobsPage(ApiSources& sources, const Leases& leases, NoteCache& notes, const Caller& caller,
           JobsAsked asked)
      : engine_(sources.engine()),
        view_(sources, &leases, caller),
        reader_(sources.queue(), caller.rights, notes),
        asked_(std::move(asked)) {}

  Step step() override {
    if (!reader_.step()) return Step::Waits;
    if (found_.empty()) {
      find();
      if (needs_notes()) reader_.begin(found_, [this] { wake(); });
      if (!reader_.is_done()) return Step::Again;
    }
    add_found();
    return is_full_ || is_at_end_ ? Step::Whole : Step::Again;
  }
  Response take() override {
    return text_.response(
        "jobs", {{"next", cursor_ == 0 ? Json(nullptr) : Json(fmt::format("{}", cursor_))}});
  }

 private:
  static_assert(RowText::rows_per_step <= NoteReader::jobs_max);

  bool needs_notes() const { return asked_.with_notes || asked_.note; }

  // Looks for the next jobs that may be listed.
  void find() {
    constexpr uint32_t jobs_per_step = 1'000;
    constexpr uint32_t jobs_per_request = 1'000'000;
    constexpr uint64_t notes_per_request = 10'000;
    const bool leaves_out = asked_.filter.is_set() || asked_.note;
    asked_.list.count = {leaves_out
                             ? RowText::rows_per_step
                             : std::min<uint64_t>(asked_.limit - listed_, RowText::rows_per_step)};
    JobList part;
    const std::optional<uint32_t> looked_at =
        asked_.is_newest_first ? engine_.list_newest_jobs(asked_.list, jobs_per_step, part)
                               : engine_.list_jobs(asked_.list, jobs_per_step, part);
    cursor_ = asked_.list.after = part.cursor;
    std::erase_if(part.jobs, [&](const JobStats& job) { return !asked_.filter.admits(job); });
    found_ = std::move(part.jobs);
    looked_at_ += looked_at.value_or(0);
    if (needs_notes()) read_ += found_.size();
    is_at_end_ = part.cursor == 0 || looked_at_ >= jobs_per_request || read_ >= notes_per_request;
  }

  void add_found() {
    for (const JobStats& job : std::exchange(found_, {})) {
      if (asked_.note && !fits_line(*asked_.note, reader_.of(job.id).line)) continue;
      if (listed_ == asked_.limit) {
        // The page is full, and the next one begins behind its last job.
        cursor_ = last_;
        is_full_ = true;
        return;
      }
      Json row = view_.of(job);
      if (asked_.with_notes) row["note"] = json_of(reader_.of(job.id));
      text_.add(row);
      last_ = job.id;
      ++listed_;
    }
    is_full_ = listed_ >= asked_.limit;
  }

  const engine::EngineView engine_;
  const JobView view_;
  NoteReader reader_;
  JobsAsked asked_;
  std::vector<JobStats> found_;  // To be listed when their notes are read.
  bool is_at_end_ = false;
  bool is_full_ = false;
  uint64_t looked_at_ = 0;
  uint64_t read_ = 0;  // Notes.
  uint64_t listed_ = 0;
  JobId last_ = 0;    // The last job that is listed.
  JobId cursor_ = 0;  // Behind which the next page begins; 0: there is none.
  RowText text_;
};

}  // namespace

std::unique_ptr<Answer> make_jobs_page(ApiSources& sources, const Leases& leases, NoteCache& notes,
                                       const Caller& caller, JobsAsked asked) {
  return std::make_unique<JobsPage>(sources, leases, notes, caller, std::move(asked));
}

}  // namespace perennial::http
