#include "cmd/perenniald/http/api/tubes_page.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/row_text.h"

namespace perennial::http {
namespace {

constexpr TubeColumn columns[] = {
    {"ready", [](const TubeStats& t) { return static_cast<double>(t.jobs.ready); }},
    {"urgent", [](const TubeStats& t) { return static_cast<double>(t.jobs.urgent); }},
    {"reserved", [](const TubeStats& t) { return static_cast<double>(t.jobs.reserved); }},
    {"delayed", [](const TubeStats& t) { return static_cast<double>(t.jobs.delayed); }},
    {"buried", [](const TubeStats& t) { return static_cast<double>(t.jobs.buried); }},
    {"puts", [](const TubeStats& t) { return static_cast<double>(t.puts); }},
    {"deletes", [](const TubeStats& t) { return static_cast<double>(t.cmd_delete); }},
    {"using", [](const TubeStats& t) { return static_cast<double>(t.using_count); }},
    {"watching", [](const TubeStats& t) { return static_cast<double>(t.watching_count); }},
    {"waiting", [](const TubeStats& t) { return static_cast<double>(t.waiting_count); }},
    {"pause_left_seconds", [](const TubeStats& t) { return in_seconds(t.pause_time_left); }},
    {"oldest_ready_seconds", [](const TubeStats& t) { return in_seconds(t.oldest_ready_age); }},
};

struct Found {
  double value = 0;  // Of the column.
  std::string name;
  bool is_gone = false;
  Nanos seen = 0;  // Of one that is gone: when it was last there.
};

// All tubes are looked at in steps, each of which sorts what it has found. Then these runs are
// merged up to the end of the page, and the tubes of the page are taken from the engine, in steps,
// too. So no step grows with the number of tubes, except by the logarithm of the number of runs.
// The rows are written last, and need the engine no more.
class TubesPage final : public Answer {
 public:
  TubesPage(engine::EngineView engine, const History& history, const Caller& caller,
            TubesAsked asked, Nanos now)
      : engine_(engine), history_(history), caller_(caller), asked_(std::move(asked)), now_(now) {}

  Step step() override {
    if (!is_collected_) {
      collect();
    } else if (!is_merged()) {
      merge();
    } else if (taken_.size() < rows_.size()) {
      take_tubes();
    } else if (next_row_ < rows_.size()) {
      format();
    } else {
      return forget() ? Step::Whole : Step::Again;
    }
    return Step::Again;
  }
  bool is_apart() const override {
    return is_collected_ && is_merged() && taken_.size() == rows_.size();
  }
  Response take() override {
    return text_.response("tubes", {{"total", total_}, {"matched", matched_}, {"gone", gone_}});
  }

 private:
  using Run = std::vector<Found>;  // The last one comes first in the page.

  static constexpr size_t tubes_per_step = 100;
  static constexpr size_t runs_freed_per_step = 10;

  uint64_t page_end() const { return asked_.offset + asked_.limit; }
  bool is_merged() const { return heads_.empty() || merged_ == page_end(); }

  bool comes_first(const Found& one, const Found& other) const {
    if (one.value != other.value) return (one.value < other.value) != asked_.is_descending;
    const bool is_by_number = asked_.column != nullptr;
    if (is_by_number && one.is_gone != other.is_gone) return other.is_gone;
    return !is_by_number && asked_.is_descending ? one.name > other.name : one.name < other.name;
  }
  // For a heap of runs: whether the head of `run` comes behind that of `other`.
  bool comes_later(const Run& run, const Run& other) const {
    return comes_first(other.back(), run.back());
  }
  auto heap_order() {
    return [this](size_t run, size_t other) { return comes_later(runs_[run], runs_[other]); };
  }

  void collect() {
    Run run;
    for (size_t looked_at = 0; looked_at < tubes_per_step; ++looked_at, ++next_) {
      if (next_ >= engine_.tube_numbers()) {
        if (asked_.with_gone) add_gone(run);
        is_collected_ = true;
        break;
      }
      if (const std::optional<TubeStats> tube = engine_.tube_statistics(next_)) add(run, *tube);
    }
    if (!run.empty()) keep(std::move(run));
  }
  void add(Run& run, const TubeStats& tube) {
    if (!caller_.may_list(tube.name)) return;
    ++total_;
    if (!fits(tube.name)) return;
    ++matched_;
    // The order of the rows says nothing of counters that are not shown.
    const bool has_value = asked_.column != nullptr && caller_.may_count(tube.name);
    run.push_back({has_value ? asked_.column->value(tube) : 0, tube.name});
  }
  void add_gone(Run& run) {
    for (History::Gone& tube : history_.gone(engine_)) {
      if (!caller_.may_count(tube.name) || !fits(tube.name)) continue;
      ++gone_;
      ++matched_;
      run.push_back({.name = std::move(tube.name), .is_gone = true, .seen = tube.since});
    }
  }
  bool fits(std::string_view name) const {
    return asked_.match.empty() || access::fits_pattern(asked_.match, name);
  }
  void keep(Run&& run) {
    const auto first = [this](const Found& one, const Found& other) {
      return comes_first(one, other);
    };
    std::ranges::sort(run, first);
    if (run.size() > page_end()) run.resize(page_end());
    std::ranges::reverse(run);
    runs_.push_back(std::move(run));
    heads_.push_back(runs_.size() - 1);
    std::ranges::push_heap(heads_, heap_order());
  }

  void merge() {
    for (size_t count = 0; count < tubes_per_step && !is_merged(); ++count, ++merged_) {
      std::ranges::pop_heap(heads_, heap_order());
      Run& run = runs_[heads_.back()];
      if (merged_ >= asked_.offset) rows_.push_back(std::move(run.back()));
      run.pop_back();
      if (run.empty()) {
        heads_.pop_back();
      } else {
        std::ranges::push_heap(heads_, heap_order());
      }
    }
  }

  void take_tubes() {
    const size_t end = std::min(taken_.size() + tubes_per_step, rows_.size());
    while (taken_.size() < end) {
      const Found& found = rows_[taken_.size()];
      std::optional<TubeStats>& tube = taken_.emplace_back();
      if (found.is_gone) {
        tube.emplace().name = found.name;
      } else {
        tube = engine_.tube_statistics(found.name);
      }
    }
  }

  void format() {
    const size_t end = std::min(next_row_ + RowText::rows_per_step, rows_.size());
    for (; next_row_ < end; ++next_row_) {
      const Found& found = rows_[next_row_];
      const std::optional<TubeStats>& tube = taken_[next_row_];
      if (!tube) continue;
      const bool is_counted = caller_.may_count(found.name);
      Json row = is_counted ? tube_json(*tube) : Json{{"name", found.name}};
      row["may"] = may_json(caller_, found.name);
      if (found.is_gone) row["gone_seconds"] = in_seconds(now_ - found.seen);
      text_.add(row);
    }
  }

  // Returns whether nothing is left to be freed.
  bool forget() {
    const size_t freed = std::min(runs_freed_per_step, runs_.size());
    runs_.resize(runs_.size() - freed);
    return runs_.empty();
  }

  const engine::EngineView engine_;
  const History& history_;
  const Caller caller_;
  const TubesAsked asked_;
  const Nanos now_;
  TubeId next_ = 0;  // To look at.
  bool is_collected_ = false;
  uint64_t total_ = 0;
  uint64_t matched_ = 0;  // With those that are gone.
  uint64_t gone_ = 0;
  std::vector<Run> runs_;
  std::vector<size_t> heads_;  // A heap of the runs that are not empty.
  uint64_t merged_ = 0;        // Up to page_end().
  std::vector<Found> rows_;
  std::vector<std::optional<TubeStats>> taken_;  // Of each of them. None: it has ended meanwhile.
  size_t next_row_ = 0;                          // To write.
  RowText text_;
};

}  // namespace

const TubeColumn* tube_column(std::string_view name) {
  const auto* const found = std::ranges::find(columns, name, &TubeColumn::name);
  return found == std::end(columns) ? nullptr : found;
}

std::unique_ptr<Answer> make_tubes_page(engine::EngineView engine, const History& history,
                                        const Caller& caller, TubesAsked asked, Nanos now) {
  return std::make_unique<TubesPage>(engine, history, caller, std::move(asked), now);
}

}  // namespace perennial::http
