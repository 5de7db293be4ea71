#include "cmd/perenniald/http/api/search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"

namespace perennial::http {

class Searches::Search final : public Answer {
 public:
  Search(Searches& searches, JobView view, ListJobs jobs, BodyTest is_wanted, uint64_t limit)
      : searches_(searches),
        sources_(searches.sources_),
        view_(std::move(view)),
        jobs_(std::move(jobs)),
        is_wanted_(std::move(is_wanted)),
        limit_(limit),
        begun_(sources_.now()) {
    searches_.is_busy_ = true;
  }
  ~Search() override { searches_.is_busy_ = false; }

  Step step() override {
    if (is_reading_) return Step::Waits;
    const bool is_over = is_last_ || found_.size() >= limit_ || looked_at_ >= jobs_max ||
                         sources_.now() - begun_ >= time_max;
    return is_over ? format() : read_on();
  }
  Response take() override {
    return text_.response(
        "jobs", {{"looked_at", looked_at_},
                 {"next", is_last_ ? Json(nullptr) : Json(fmt::format("{}", jobs_.after))}});
  }

 private:
  // Gives the bodies of the next jobs to the pool. What it finds comes while the client may be
  // gone.
  Step read_on() {
    constexpr uint32_t jobs_per_step = 1'000;
    jobs_.count = {bodies_per_read};
    JobList list;
    const std::optional<uint32_t> walked = sources_.engine().list_jobs(jobs_, jobs_per_step, list);
    is_last_ = !walked || list.cursor == 0;
    if (!is_last_) jobs_.after = list.cursor;
    std::vector<JobId> ids;
    uint64_t bytes = 0;
    for (const JobStats& job : list.jobs) {
      if (bytes >= bytes_per_read) {
        is_last_ = false;
        jobs_.after = ids.back();
        break;
      }
      ids.push_back(job.id);
      bytes += job.body_bytes;
    }
    looked_at_ += ids.size();
    if (ids.empty()) return Step::Again;
    is_reading_ = true;
    sources_.find_in_bodies(std::move(ids), is_wanted_,
                            [alive = std::weak_ptr(alive_), this](const std::vector<JobId>& found) {
                              if (alive.expired()) return;
                              is_reading_ = false;
                              add(found);
                              wake();
                            });
    return Step::Waits;
  }
  Step format() {
    const size_t end = std::min(next_row_ + RowText::rows_per_step, found_.size());
    for (; next_row_ < end; ++next_row_) {
      const auto job = sources_.engine().job_statistics(found_[next_row_]);
      if (job) text_.add(view_.of(*job));
    }
    return next_row_ == found_.size() ? Step::Whole : Step::Again;
  }
  void add(const std::vector<JobId>& found) {
    for (const JobId id : found) {
      if (found_.size() == limit_) {
        // The page is full, and the next one begins behind its last job.
        is_last_ = false;
        jobs_.after = found_.back();
        return;
      }
      found_.push_back(id);
    }
  }

  Searches& searches_;
  ApiSources& sources_;
  const JobView view_;
  ListJobs jobs_;
  const BodyTest is_wanted_;
  const uint64_t limit_;
  const Nanos begun_;
  bool is_reading_ = false;
  bool is_last_ = false;
  uint64_t looked_at_ = 0;
  std::vector<JobId> found_;
  size_t next_row_ = 0;  // Of found_, to be formatted.
  RowText text_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

std::unique_ptr<Answer> Searches::open(JobView view, ListJobs jobs, BodyTest is_wanted,
                                       uint64_t limit) {
  return std::make_unique<Search>(*this, std::move(view), std::move(jobs), std::move(is_wanted),
                                  limit);
}

}  // namespace perennial::http
