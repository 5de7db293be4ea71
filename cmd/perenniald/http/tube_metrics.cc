#include "cmd/perenniald/http/tube_metrics.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "cmd/perenniald/access/users.h"

namespace perennial::http {
namespace {

// No tube has braces in its name.
const std::string other_tubes = "{other}";

struct TubeFamily {
  std::string_view name;
  MetricType type;
  std::string_view unit;
  std::string_view help;
  double (*value)(const TubeStats&);
};
constexpr TubeFamily tube_families[] = {
    {"perennial_tube_oldest_ready_seconds", MetricType::Gauge, "seconds", oldest_ready_meaning,
     [](const TubeStats& t) { return in_seconds(t.oldest_ready_age); }},
    {"perennial_tube_puts", MetricType::Counter, "",
     "Jobs that were put into the tube since the start.",
     [](const TubeStats& t) { return static_cast<double>(t.puts); }},
    {"perennial_tube_deletes", MetricType::Counter, "", "Jobs that were deleted from the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.cmd_delete); }},
    {"perennial_tube_put_bytes", MetricType::Counter, "bytes",
     "Bodies of jobs that were put into the tube since the start.",
     [](const TubeStats& t) { return static_cast<double>(t.put_bytes); }},
    {"perennial_tube_reserves", MetricType::Counter, "", "Jobs of the tube that were reserved.",
     [](const TubeStats& t) { return static_cast<double>(t.job_ends.reserved); }},
    {"perennial_tube_releases", MetricType::Counter, "",
     "Jobs of the tube that were released, with or without a delay.",
     [](const TubeStats& t) { return static_cast<double>(t.job_ends.released); }},
    {"perennial_tube_buries", MetricType::Counter, "",
     "Jobs of the tube that were buried: by a worker, because they were dead, or because their "
     "bodies are damaged.",
     [](const TubeStats& t) { return static_cast<double>(t.job_ends.buried); }},
    {"perennial_tube_kicks", MetricType::Counter, "", "Jobs of the tube that were kicked.",
     [](const TubeStats& t) { return static_cast<double>(t.job_ends.kicked); }},
    {"perennial_tube_dead", MetricType::Counter, "",
     "Jobs that died in the tube: all their tries had failed.",
     [](const TubeStats& t) { return static_cast<double>(t.more ? t.more->jobs_dead : 0); }},
    {"perennial_tube_expired", MetricType::Counter, "",
     "Jobs that were removed from the tube because their time was over.",
     [](const TubeStats& t) { return static_cast<double>(t.more ? t.more->jobs_expired : 0); }},
    {"perennial_tube_holds_dead", MetricType::Gauge, "",
     "1 where ready jobs are dead ones of other tubes, for which no worker is expected, else 0.",
     [](const TubeStats& t) { return static_cast<double>(t.holds_dead); }},
    {"perennial_tube_timeouts", MetricType::Counter, "", "Reservations whose time was over.",
     [](const TubeStats& t) { return static_cast<double>(t.timeouts); }},
    {"perennial_tube_watching", MetricType::Gauge, "", "Connections that watch the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.watching_count); }},
    {"perennial_tube_waiting", MetricType::Gauge, "",
     "Connections that wait for a job of the tube.",
     [](const TubeStats& t) { return static_cast<double>(t.waiting_count); }},
    {"perennial_tube_pause_seconds", MetricType::Gauge, "seconds", "What is left of a pause.",
     [](const TubeStats& t) { return in_seconds(t.pause_time_left); }},
};

using Groups = std::vector<std::pair<std::string, std::string>>;

const std::string* group_of(const Groups& groups, std::string_view tube) {
  for (const auto& [pattern, name] : groups) {
    if (name == tube || access::fits_pattern(pattern, tube)) return &name;
  }
  return nullptr;
}

bool fits_any(const std::vector<std::string>& patterns, std::string_view tube) {
  return std::ranges::any_of(
      patterns, [&](const std::string& pattern) { return access::fits_pattern(pattern, tube); });
}

struct TimesFamily {
  std::string_view name;
  std::string_view help;
  const WorkHistogram& (*of)(const TubeTimes&);
};
constexpr TimesFamily times_families[] = {
    {"perennial_tube_wait_seconds",
     "From the time when a job of the tube became ready to its reservation.",
     [](const TubeTimes& times) -> const WorkHistogram& { return times.wait; }},
    {"perennial_tube_run_seconds",
     "From the reservation of a job of the tube to its end, whatever ended it.",
     [](const TubeTimes& times) -> const WorkHistogram& { return times.run; }},
};

}  // namespace

MeasuredAs measured_as(std::vector<std::string> patterns, Groups groups) {
  if (patterns.empty()) return {};
  return [patterns = std::move(patterns), groups = std::move(groups)](std::string_view tube) {
    if (!fits_any(patterns, tube)) return MeasuredName();
    if (const std::string* const group = group_of(groups, tube)) {
      return MeasuredName{.name = *group, .is_group = true};
    }
    return MeasuredName{.name = std::string(tube)};
  };
}

bool TubeCollector::step(engine::EngineView engine) {
  for (size_t looked_at = 0; looked_at < tubes_per_step; ++looked_at, ++next_) {
    if (next_ >= engine.tube_numbers()) {
      const uint64_t taken = first_.size() + later_.size();
      if (taken > choice_.tubes_max) unlisted_ += taken - choice_.tubes_max;
      return true;
    }
    std::optional<TubeStats> tube = engine.tube_statistics(next_);
    if (tube && access::fits_pattern(choice_.match, tube->name)) add(std::move(*tube));
  }
  return false;
}

void TubeCollector::add(TubeStats&& tube) {
  oldest_ready_ = std::max(oldest_ready_, tube.oldest_ready_age);
  oldest_buried_ = std::max(oldest_buried_, tube.next_buried_age);
  if (const std::string* const group = group_of(choice_.groups, tube.name)) {
    return add_to_sum(*group, tube);
  }
  std::deque<TubeStats>& those = fits_any(choice_.first, tube.name) ? first_ : later_;
  if (those.size() < choice_.tubes_max) {
    those.push_back(std::move(tube));
  } else {
    ++unlisted_;
    add_to_sum(other_tubes, tube);
  }
}

void TubeCollector::add_to_sum(const std::string& name, const TubeStats& tube) {
  TubeStats& sum = sums_[name];
  sum.name = name;
  sum.jobs.ready += tube.jobs.ready;
  sum.jobs.reserved += tube.jobs.reserved;
  sum.jobs.delayed += tube.jobs.delayed;
  sum.jobs.buried += tube.jobs.buried;
  sum.puts += tube.puts;
  sum.watching_count += tube.watching_count;
  sum.waiting_count += tube.waiting_count;
  sum.cmd_delete += tube.cmd_delete;
  sum.timeouts += tube.timeouts;
  sum.put_bytes += tube.put_bytes;
  sum.job_ends += tube.job_ends;
  if (tube.more && !sum.more) sum.more = TubeStats::More();
  if (tube.more) sum.more->jobs_dead += tube.more->jobs_dead;
  if (tube.more) sum.more->jobs_expired += tube.more->jobs_expired;
  sum.holds_dead |= tube.holds_dead;
  sum.oldest_ready_age = std::max(sum.oldest_ready_age, tube.oldest_ready_age);
  sum.pause_time_left = std::max(sum.pause_time_left, tube.pause_time_left);
}

// The tubes with the lowest numbers take what those that come first have left. Numbers are nearly
// the order of creation.
bool TubeCollector::list() {
  for (size_t listed = 0; listed < tubes_per_step; ++listed) {
    std::deque<TubeStats>& those = first_.empty() ? later_ : first_;
    if (those.empty()) {
      listed_.merge(sums_);
      return true;
    }
    list_one(std::move(those.front()));
    those.pop_front();
  }
  return false;
}

void TubeCollector::list_one(TubeStats&& tube) {
  const bool has_place = listed_.size() < choice_.tubes_max || listed_.contains(tube.name);
  if (!has_place) return add_to_sum(other_tubes, tube);
  std::string name = tube.name;
  listed_.insert_or_assign(std::move(name), std::move(tube));
}

void add_states(MetricsWriter& out, const StateCounts& jobs, const std::string* tube) {
  const std::pair<std::string_view, uint64_t> states[] = {{"ready", jobs.ready},
                                                          {"reserved", jobs.reserved},
                                                          {"delayed", jobs.delayed},
                                                          {"buried", jobs.buried}};
  for (const auto& [state, count] : states) {
    if (tube == nullptr) {
      out.sample(count, {{"state", state}});
    } else {
      out.sample(count, {{"tube", *tube}, {"state", state}});
    }
  }
}

bool TubeFamilies::step(MetricsWriter& out, const TubeCollector::Tubes& tubes) {
  const TubeFamily* const family = family_ == 0 ? nullptr : &tube_families[family_ - 1];
  if (!has_begun_) {
    if (family == nullptr) {
      out.family("perennial_tube_jobs", MetricType::Gauge, "", "Jobs of a tube by state.");
    } else {
      out.family(family->name, family->type, family->unit, family->help);
    }
    next_ = tubes.begin();
    has_begun_ = true;
  }
  for (size_t rows = 0; rows < TubeCollector::tubes_per_step && next_ != tubes.end(); ++rows) {
    const auto& [name, tube] = *next_++;
    if (family == nullptr) {
      add_states(out, tube.jobs, &name);
    } else {
      out.sample(family->value(tube), {{"tube", name}});
    }
  }
  if (next_ != tubes.end()) return false;
  has_begun_ = false;
  return ++family_ == 1 + std::size(tube_families);
}

bool TubeTimesFamilies::step(MetricsWriter& out, const engine::TimesByName& records) {
  const TimesFamily& family = times_families[family_];
  if (!has_begun_) {
    // Without a tube there is no family: nobody has asked for it.
    if (records.empty()) return true;
    out.family(family.name, MetricType::Histogram, "seconds", family.help);
    has_begun_ = true;
    last_.clear();
    listed_ = 0;
  }
  size_t looked_at = 0;
  auto record = records.upper_bound(last_);
  for (; record != records.end() && looked_at < histograms_per_step; ++record, ++looked_at) {
    last_ = record->first;
    if (asked_ != nullptr) {
      const bool is_asked_for = !record->second.is_group && listed_ < asked_->tubes_max &&
                                access::fits_pattern(asked_->match, last_);
      if (!is_asked_for) continue;
    }
    ++listed_;
    out.histogram(family.of(record->second.times).view(), nanos_to_seconds, {{"tube", last_}});
  }
  if (record != records.end()) return false;
  has_begun_ = false;
  return ++family_ == std::size(times_families);
}

}  // namespace perennial::http
