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

// The jobs of the page are taken from the engine first, with their notes and who holds them, in
// steps. Then their rows are written, which takes ten times as long, and needs the engine no more.
class JobsPage final : public Answer {
 public:
  JobsPage(ApiSources& sources, const Leases& leases, NoteCache& notes, const Caller& caller,
           JobsAsked asked)
      : engine_(sources.engine()),
        view_(sources, &leases, caller),
        reader_(std::in_place, sources.queue(), caller.rights, notes),
        asked_(std::move(asked)) {}

  Step step() override {
    if (!is_apart()) {
      if (!take_jobs()) return Step::Waits;
      const bool is_short = is_apart() && rows_.size() <= RowText::rows_per_step;
      if (!is_short) return Step::Again;
    }
    return write_rows() ? Step::Whole : Step::Again;
  }
  bool is_apart() const override { return !reader_; }
  Response take() override {
    return text_.response(
        "jobs", {{"next", cursor_ == 0 ? Json(nullptr) : Json(fmt::format("{}", cursor_))}});
  }

 private:
  static constexpr size_t jobs_per_step = NoteReader::jobs_max;

  struct Row {
    JobStats job;
    Json holders;
    Json note;  // Only if the rows have one.
  };

  bool needs_notes() const { return asked_.with_notes || asked_.note; }

  // Returns false if it waits for notes.
  bool take_jobs() {
    if (!reader_->step()) return false;
    if (found_.empty()) {
      find();
      if (needs_notes()) reader_->begin(found_, [this] { wake(); });
      if (!reader_->is_done()) return true;
    }
    keep_found();
    if (is_full_ || is_at_end_) reader_.reset();
    return true;
  }

  // Looks for the next jobs that may be listed.
  void find() {
    constexpr uint32_t looked_at_per_step = 1'000;
    constexpr uint32_t jobs_per_request = 1'000'000;
    constexpr uint64_t notes_per_request = 10'000;
    const bool leaves_out = asked_.filter.is_set() || asked_.note;
    asked_.list.count = {leaves_out
                             ? jobs_per_step
                             : std::min<uint64_t>(asked_.limit - rows_.size(), jobs_per_step)};
    JobList part;
    const std::optional<uint32_t> looked_at =
        asked_.is_newest_first ? engine_.list_newest_jobs(asked_.list, looked_at_per_step, part)
                               : engine_.list_jobs(asked_.list, looked_at_per_step, part);
    cursor_ = asked_.list.after = part.cursor;
    std::erase_if(part.jobs, [&](const JobStats& job) { return !asked_.filter.admits(job); });
    found_ = std::move(part.jobs);
    looked_at_ += looked_at.value_or(0);
    if (needs_notes()) read_ += found_.size();
    is_at_end_ = part.cursor == 0 || looked_at_ >= jobs_per_request || read_ >= notes_per_request;
  }

  void keep_found() {
    for (JobStats& job : std::exchange(found_, {})) {
      if (asked_.note && !fits_line(*asked_.note, reader_->of(job.id).line)) continue;
      if (rows_.size() == asked_.limit) {
        // The page is full, and the next one begins behind its last job.
        cursor_ = rows_.back().job.id;
        is_full_ = true;
        return;
      }
      Row& row = rows_.emplace_back();
      row.holders = view_.holders_of(job);
      if (asked_.with_notes) row.note = json_of(reader_->of(job.id));
      row.job = std::move(job);
    }
    is_full_ = rows_.size() >= asked_.limit;
  }

  // Returns whether all are written.
  bool write_rows() {
    const size_t end = std::min(written_ + RowText::rows_per_step, rows_.size());
    for (; written_ < end; ++written_) {
      const Row& from = rows_[written_];
      Json row = view_.of(from.job, from.holders);
      if (asked_.with_notes) row["note"] = from.note;
      text_.add(row);
    }
    return written_ == rows_.size();
  }

  const engine::EngineView engine_;
  const JobView view_;
  std::optional<NoteReader> reader_;  // Until all jobs are taken: it is a client of core.
  JobsAsked asked_;
  std::vector<JobStats> found_;  // To be taken when their notes are read.
  bool is_at_end_ = false;
  bool is_full_ = false;
  uint64_t looked_at_ = 0;
  uint64_t read_ = 0;  // Notes.
  JobId cursor_ = 0;   // Behind which the next page begins; 0: there is none.
  std::vector<Row> rows_;
  size_t written_ = 0;
  RowText text_;
};

}  // namespace

std::unique_ptr<Answer> make_jobs_page(ApiSources& sources, const Leases& leases, NoteCache& notes,
                                       const Caller& caller, JobsAsked asked) {
  return std::make_unique<JobsPage>(sources, leases, notes, caller, std::move(asked));
}

}  // namespace perennial::http
