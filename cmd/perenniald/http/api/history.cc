#include "cmd/perenniald/http/api/history.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/types/check.h"

namespace perennial::http {
namespace {

constexpr Nanos second = nanos_per_second;

constexpr Column server_columns[] = {
    {"ready", Measure::Count},   {"reserved", Measure::Count}, {"delayed", Measure::Count},
    {"buried", Measure::Count},  {"puts", Measure::Rate},      {"deletes", Measure::Rate},
    {"timeouts", Measure::Rate},
};
constexpr Column tube_columns[] = {
    {"ready", Measure::Count},  {"reserved", Measure::Count}, {"delayed", Measure::Count},
    {"buried", Measure::Count}, {"puts", Measure::Rate},      {"deletes", Measure::Rate},
};

}  // namespace

Rows::Rows(std::span<const Column> columns, Nanos step, size_t rows_max)
    : columns_(columns), step_(step), rows_max_(rows_max) {}

void Rows::add(Nanos now, std::span<const uint64_t> values) {
  CHECK(values.size() == columns_.size());
  if (last_.empty()) {
    last_.assign(values.begin(), values.end());
    last_at_ = now;
    return;
  }
  // A call that comes a little early belongs to the step.
  const Nanos gone = now - last_at_;
  if (gone < step_ - second / 2) return;
  const float seconds = static_cast<float>(in_seconds(gone));
  const size_t at = size() < rows_max_ ? values_.size() : oldest_ * columns_.size();
  if (size() < rows_max_) {
    values_.resize(values_.size() + columns_.size());
  } else {
    oldest_ = (oldest_ + 1) % rows_max_;
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    // A tube that ended and began again counts from 0.
    const uint64_t before = values[i] < last_[i] ? 0 : last_[i];
    values_[at + i] = columns_[i].measure == Measure::Count
                          ? static_cast<float>(values[i])
                          : static_cast<float>(values[i] - before) / seconds;
  }
  last_.assign(values.begin(), values.end());
  last_at_ = now;
}

SavedRows Rows::save() const {
  SavedRows saved = {.step = step_, .last_at = last_at_, .columns = {}};
  for (size_t i = 0; i < columns_.size(); ++i) {
    std::vector<float>& column = saved.columns[std::string(columns_[i].name)];
    for (size_t row = 0; row < size(); ++row) {
      column.push_back(value_at(row, i));
    }
  }
  return saved;
}

void Rows::restore(const SavedRows& saved, Nanos now) {
  CHECK(values_.empty() && last_.empty());
  // A clock that was set back leaves no gap.
  const auto gap = static_cast<size_t>(std::max<Nanos>(now - saved.last_at, 0) / step_);
  if (gap >= rows_max_) return;
  size_t rows = 0;
  for (const auto& [name, values] : saved.columns) rows = std::max(rows, values.size());
  rows = std::min(rows, rows_max_ - gap);
  if (rows == 0) return;
  values_.assign((rows + gap) * columns_.size(), std::numeric_limits<float>::quiet_NaN());
  for (size_t i = 0; i < columns_.size(); ++i) {
    const auto found = saved.columns.find(std::string(columns_[i].name));
    if (found == saved.columns.end()) continue;  // Of a version that did not have it.
    const std::vector<float>& column = found->second;
    const size_t taken = std::min(rows, column.size());
    for (size_t row = 0; row < taken; ++row) {
      values_[(rows - taken + row) * columns_.size() + i] = column[column.size() - taken + row];
    }
  }
  last_at_ = now;
}

HistoryPart Rows::newest(size_t count, Nanos now) const {
  HistoryPart part = {.columns = columns_, .values = {}, .step = step_};
  part.ends_ago = last_.empty() ? 0 : now - last_at_;
  const size_t rows = std::min(count, size());
  part.values.reserve(rows * columns_.size());
  for (size_t row = size() - rows; row < size(); ++row) {
    for (size_t i = 0; i < columns_.size(); ++i) part.values.push_back(value_at(row, i));
  }
  return part;
}

HistoryText::HistoryText(HistoryPart part)
    : part_(std::move(part)), rows_(part_.values.size() / part_.columns.size()) {
  text_ = fmt::format(
      R"({{"step_seconds":{},"ends_seconds_ago":{},"span_seconds":{},"spans_seconds":[{}],"series":{{)",
      in_seconds(part_.step), in_seconds(part_.ends_ago), part_.span, fmt::join(part_.spans, ","));
}

bool HistoryText::step() {
  const size_t columns = part_.columns.size();
  const size_t all = std::max(rows_, size_t{1}) * columns;  // A column without values has a name.
  const size_t end = std::min(next_ + values_per_step, all);
  for (; next_ < end; ++next_) {
    const size_t row = next_ % (all / columns);
    const size_t column = next_ / (all / columns);
    if (row == 0) {
      fmt::format_to(std::back_inserter(text_), "{}\"{}\":[", column == 0 ? "" : "],",
                     part_.columns[column].name);
    }
    if (rows_ == 0) continue;
    if (row > 0) text_ += ',';
    const float value = part_.values[row * columns + column];
    if (std::isnan(value)) {
      text_ += "null";
    } else {
      fmt::format_to(std::back_inserter(text_), "{}", value);
    }
  }
  if (next_ < all) return false;
  text_ += "]}}\n";
  return true;
}

Series::Series(std::span<const Column> columns, std::span<const HistorySpan> spans)
    : spans_(spans) {
  for (size_t i = 0; i < spans.size(); ++i) {
    const HistorySpan& span = spans[i];
    const bool is_longest = i + 1 == spans.size() || spans[i + 1].step_seconds != span.step_seconds;
    if (!is_longest) continue;
    rows_.emplace_back(columns, static_cast<Nanos>(span.step_seconds) * second,
                       span.seconds / span.step_seconds);
  }
}

void Series::add(Nanos now, std::span<const uint64_t> values) {
  for (Rows& rows : rows_) rows.add(now, values);
}

std::optional<HistoryPart> Series::part(uint64_t span_seconds, Nanos now) const {
  const uint64_t wanted = span_seconds == 0 ? spans_.front().seconds : span_seconds;
  const auto found = std::ranges::find(spans_, wanted, &HistorySpan::seconds);
  if (found == spans_.end()) return std::nullopt;
  const Nanos step = static_cast<Nanos>(found->step_seconds) * second;
  const auto rows = std::ranges::find(rows_, step, &Rows::step);
  HistoryPart part = rows->newest(found->seconds / found->step_seconds, now);
  part.span = wanted;
  for (const HistorySpan& span : spans_) part.spans.push_back(span.seconds);
  return part;
}

SavedHistory Series::save() const {
  SavedHistory saved;
  for (size_t i = 1; i < rows_.size(); ++i) saved.push_back(rows_[i].save());
  return saved;
}

void Series::restore(const SavedHistory& saved, Nanos now) {
  for (size_t i = 1; i < rows_.size(); ++i) {
    const auto found = std::ranges::find(saved, rows_[i].step(), &SavedRows::step);
    if (found != saved.end()) rows_[i].restore(*found, now);
  }
}

std::string Series::spans_text() const {
  std::string out;
  for (const HistorySpan& span : spans_)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", span.seconds);
  return out;
}

History::History() : server_(server_columns, server_spans) {}

void History::on_second(engine::EngineView engine, Nanos now) {
  const EngineStats stats = engine.statistics();
  const uint64_t values[] = {stats.jobs.ready,  stats.jobs.reserved, stats.jobs.delayed,
                             stats.jobs.buried, stats.puts,          stats.job_ends.deleted,
                             stats.job_timeouts};
  server_.add(now, values);
  // At most so many at once, so that very many tubes do not hold the loop.
  constexpr TubeId tubes_per_call = 1'000;
  for (TubeId looked_at = 0; looked_at < tubes_per_call; ++looked_at, ++next_) {
    if (next_ >= engine.tube_numbers()) {
      next_ = 0;
      oldest_ready_since_ = std::exchange(oldest_so_far_, none);
      std::erase_if(tubes_,
                    [&](const auto& entry) { return now - entry.second.seen > kept_after_end; });
      break;
    }
    const std::optional<TubeStats> tube = engine.tube_statistics(next_);
    if (!tube) continue;
    if (tube->jobs.ready > 0)
      oldest_so_far_ = std::min(oldest_so_far_, now - tube->oldest_ready_age);
    add_tube(*tube, now);
  }
}

void History::add_tube(const TubeStats& tube, Nanos now) {
  auto found = tubes_.find(tube.name);
  if (found == tubes_.end()) {
    if (tubes_.size() >= tubes_max) return;
    found = tubes_.emplace(tube.name, OfTube{Series(tube_columns, tube_spans)}).first;
  }
  const uint64_t values[] = {tube.jobs.ready,  tube.jobs.reserved, tube.jobs.delayed,
                             tube.jobs.buried, tube.puts,          tube.cmd_delete};
  found->second.series.add(now, values);
  found->second.seen = now;
}

std::vector<History::Gone> History::gone(engine::EngineView engine) const {
  std::vector<Gone> gone;
  for (const auto& [name, tube] : tubes_) {
    if (!engine.tube_statistics(name)) gone.push_back({name, tube.seen});
  }
  return gone;
}

const Series* History::tube(const std::string& name) const {
  const auto found = tubes_.find(name);
  return found == tubes_.end() ? nullptr : &found->second.series;
}

}  // namespace perennial::http
