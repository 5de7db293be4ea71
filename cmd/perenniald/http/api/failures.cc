#include "cmd/perenniald/http/api/failures.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"
#include "engine/view/engine_view.h"
#include "wire/command_line.h"

namespace perennial::http {

class Failures::List final : public Answer {
 public:
  List(Failures& failures, Caller caller, FailuresAsked asked)
      : failures_(failures),
        caller_(std::move(caller)),
        asked_(std::move(asked)),
        of_tube_max_(asked_.tube.empty() ? jobs_of_tube_max : jobs_max),
        reader_(failures.sources_.queue(), caller_.rights, failures.notes_) {
    failures_.lists_.push_back(this);
  }
  ~List() override { leave(); }

  Step step() override {
    if (!is_read_ && failures_.lists_.front() != this) return Step::Waits;
    if (!is_collected_) {
      collect();
    } else if (!is_read_) {
      if (!reader_.step()) return Step::Waits;
      read();
    } else {
      return format() ? Step::Whole : Step::Again;
    }
    return Step::Again;
  }
  Response take() override {
    return text_.response("groups", {{"failed", failed_},
                                     {"looked_at", looked_at_},
                                     {"whole", is_whole_},
                                     {"groups_found", groups_.size()}});
  }

 private:
  using FailedJob = engine::EngineView::FailedJob;
  struct OfTube {
    std::string name;
    std::vector<FailedJob> jobs;
  };
  // The tube, whether they are dead, and the line of their newest notes.
  using Kind = std::tuple<std::string, bool, std::string>;
  struct Group {
    uint64_t jobs = 0;
    JobId newest = 0;
    NoteLines note = {};         // Of the newest.
    std::string newest_at = {};  // RFC 3339 in UTC, which sorts as text.
    std::string oldest_at = {};
  };

  static constexpr size_t tubes_per_step = 500;
  static constexpr size_t places_per_step = 2'000;

  engine::EngineView engine() const { return failures_.sources_.engine(); }

  // ---- Which jobs.
  void collect() {
    size_t places_left = places_per_step;
    for (size_t tubes = 0; tubes < tubes_per_step && places_left > 0; ++tubes) {
      if (next_tube_ >= engine().tube_numbers()) {
        end_tube();
        end_collecting();
        return;
      }
      collect_of_tube(places_left);
    }
  }
  void collect_of_tube(size_t& places_left) {
    const size_t all_places = engine().failed_places(next_tube_);
    const size_t places = std::min(all_places, places_max);
    if (places == 0 || (next_place_ == 0 && !begin_tube())) return end_tube();
    if (all_places > places) is_whole_ = false;
    const size_t end = std::min(places, next_place_ + places_left);
    const size_t before = now_.jobs.size();
    engine().failed_jobs(next_tube_, next_place_, end, now_.jobs);
    failed_ += now_.jobs.size() - before;
    places_left -= std::min(places_left, end - std::min(end, next_place_));
    next_place_ = end;
    if (now_.jobs.size() > 2 * of_tube_max_ + places_per_step) keep_newest(now_);
    if (end >= places) end_tube();
  }
  // Returns whether the jobs of the tube are wanted.
  bool begin_tube() {
    if (tubes_.size() >= tubes_max) {
      is_whole_ = false;
      return false;
    }
    const std::optional<TubeStats> tube = engine().tube_statistics(next_tube_);
    const bool is_asked = asked_.tube.empty() || (tube && tube->name == asked_.tube);
    if (!tube || !is_asked || !caller_.may_on(tube->name, access::Verb::Inspect)) return false;
    now_.name = tube->name;
    return true;
  }
  void end_tube() {
    ++next_tube_;
    next_place_ = 0;
    OfTube done = std::exchange(now_, {});
    if (done.jobs.empty()) return;
    keep_newest(done);
    kept_ += done.jobs.size();
    tubes_.push_back(std::move(done));
    // All tubes get the same share, so that a flood in one hides none of the others.
    while (kept_ > jobs_max && of_tube_max_ > 1) {
      of_tube_max_ /= 2;
      kept_ = 0;
      for (OfTube& tube : tubes_) {
        keep_newest(tube);
        kept_ += tube.jobs.size();
      }
    }
  }
  void keep_newest(OfTube& tube) {
    if (tube.jobs.size() <= of_tube_max_) return;
    is_whole_ = false;
    const auto is_newer = [](const FailedJob& one, const FailedJob& other) {
      return std::pair(one.order, one.id) > std::pair(other.order, other.id);
    };
    const auto end = tube.jobs.begin() + static_cast<ptrdiff_t>(of_tube_max_);
    std::ranges::nth_element(tube.jobs, end, is_newer);
    tube.jobs.erase(end, tube.jobs.end());
  }
  // A job may have been met in two places, as jobs come and go between two steps.
  void end_collecting() {
    is_collected_ = true;
    for (OfTube& tube : tubes_) {
      std::ranges::sort(tube.jobs, {}, &FailedJob::id);
      const auto is_same = [](const FailedJob& one, const FailedJob& other) {
        return one.id == other.id;
      };
      tube.jobs.erase(std::unique(tube.jobs.begin(), tube.jobs.end(), is_same), tube.jobs.end());
      jobs_.insert(jobs_.end(), tube.jobs.begin(), tube.jobs.end());
    }
    tubes_.clear();
  }

  // ---- Their notes, and the groups.
  void read() {
    for (const JobStats& job : std::exchange(reading_, {})) add(job);
    if (next_job_ == jobs_.size()) {
      end_reading();
      return;
    }
    const size_t end = std::min(next_job_ + NoteReader::jobs_max, jobs_.size());
    for (; next_job_ < end; ++next_job_) {
      std::optional<JobStats> job = engine().job_statistics(jobs_[next_job_].id);
      const JobState wanted = jobs_[next_job_].is_dead ? JobState::Ready : JobState::Buried;
      const bool is_same = job && job->state == wanted;
      if (!is_same || !caller_.may_on(job->tube, access::Verb::Inspect)) continue;
      reading_.push_back(*std::move(job));
    }
    reader_.begin(reading_, [this] { wake(); });
  }
  void add(const JobStats& job) {
    ++looked_at_;
    const NoteLines& note = reader_.of(job.id);
    const Json put_at = time_json(job.more ? job.more->put_at : 0);
    std::string at = note.time;
    if (note.number == 0 && put_at.is_string()) at = put_at.get<std::string>();
    if (at < since_text()) return;
    Group& group = groups_[{job.tube, job.state == JobState::Ready, note.line}];
    ++group.jobs;
    if (group.oldest_at.empty() || at < group.oldest_at) group.oldest_at = at;
    const bool is_newest =
        group.newest == 0 || std::pair(at, job.id) > std::pair(group.newest_at, group.newest);
    if (!is_newest) return;
    group.newest = job.id;
    group.newest_at = at;
    group.note = note;
  }
  const std::string& since_text() {
    if (since_text_.empty() && asked_.since > 0) {
      since_text_ = time_json(asked_.since).get<std::string>();
    }
    return since_text_;
  }
  void end_reading() {
    is_read_ = true;
    for (const auto& each : groups_) order_.push_back(&each);
    const auto newest_first = [](const Entry* one, const Entry* other) {
      return one->second.newest_at > other->second.newest_at;
    };
    std::ranges::stable_sort(order_, newest_first);
    if (order_.size() > asked_.limit) order_.resize(asked_.limit);
    leave();
  }

  // ---- The answer.
  using Entry = std::pair<const Kind, Group>;

  bool format() {
    const size_t end = std::min(next_row_ + RowText::rows_per_step, order_.size());
    for (; next_row_ < end; ++next_row_) text_.add(json_of(*order_[next_row_]));
    return next_row_ == order_.size();
  }
  Json json_of(const Entry& entry) const {
    const auto& [tube, is_dead, line] = entry.first;
    const Group& group = entry.second;
    const auto time = [](const std::string& text) {
      return text.empty() ? Json(nullptr) : Json(text);
    };
    return {{"tube", tube},
            {"how", is_dead ? "dead" : "buried"},
            {"line", line},
            {"jobs", group.jobs},
            {"newest_at", time(group.newest_at)},
            {"oldest_at", time(group.oldest_at)},
            {"newest", fmt::format("{}", group.newest)},
            {"note", http::json_of(group.note)},
            {"may", may_json(caller_, tube)}};
  }

  // It has had its turn, or nobody waits for it any more.
  void leave() {
    const auto mine = std::ranges::find(failures_.lists_, this);
    if (mine == failures_.lists_.end()) return;
    failures_.lists_.erase(mine);
    if (!failures_.lists_.empty() && failures_.lists_.front()->wake) {
      failures_.lists_.front()->wake();
    }
  }

  Failures& failures_;
  const Caller caller_;
  const FailuresAsked asked_;
  size_t of_tube_max_;  // How many jobs are kept of a tube.
  TubeId next_tube_ = 0;
  size_t next_place_ = 0;
  OfTube now_;  // The tube that is looked at.
  std::vector<OfTube> tubes_;
  size_t kept_ = 0;  // Jobs of `tubes_`.
  bool is_collected_ = false;
  std::vector<FailedJob> jobs_;
  size_t next_job_ = 0;
  std::vector<JobStats> reading_;
  NoteReader reader_;
  bool is_read_ = false;
  std::string since_text_;
  uint64_t failed_ = 0;
  uint64_t looked_at_ = 0;
  bool is_whole_ = true;
  std::map<Kind, Group> groups_;
  std::vector<const Entry*> order_;
  size_t next_row_ = 0;
  RowText text_;
};

Api::Made Api::failures(const Ask& ask) {
  Query query(ask.request.query);
  FailuresAsked asked = {.tube = query.text("tube").value_or(""),
                         .limit = query.number("limit", page_default, 1, page_max)};
  if (const uint64_t seconds = query.number("since_seconds", 0, 1, UINT32_MAX); seconds > 0) {
    asked.since = sources_.now() - static_cast<Nanos>(seconds) * nanos_per_second;
  }
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  // An empty list would say that all is well.
  if (!ask.caller.may(access::Verb::Inspect)) {
    return forbidden(ask, access::Verb::Inspect, asked.tube);
  }
  if (!asked.tube.empty()) {
    if (!wire::is_tube_name(asked.tube)) return not_found("There is no such tube.");
    if (Made refusal = refused(ask, ListJobs{.tube = asked.tube})) return refusal;
  }
  return failures_.open(ask.caller, std::move(asked));
}

std::unique_ptr<Answer> Failures::open(const Caller& caller, FailuresAsked asked) {
  return std::make_unique<List>(*this, caller, std::move(asked));
}

}  // namespace perennial::http
