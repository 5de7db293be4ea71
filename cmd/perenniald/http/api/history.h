#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/api/saved_history.h"
#include "engine/types/basic.h"
#include "engine/view/engine_view.h"

// The recent past, for the charts of the console. What is kept of it over a restart is in
// saved_history.h. Prometheus is for the long run.
namespace perennial::http {

// One line of a chart: a count as it is, or how often something happened in a second.
enum class Measure : uint8_t { Count, Rate };
struct Column {
  std::string_view name;
  Measure measure;
};

// The newest values of some columns, row by row from the oldest one, as they are at one time. Of a
// time at which the server did not run they are NaN.
struct HistoryPart {
  std::span<const Column> columns;
  std::vector<float> values;
  Nanos step = 0;
  Nanos ends_ago = 0;  // How long ago the newest row ended.
  // The span that was asked for, and all that there are. In seconds.
  uint64_t span = 0;
  std::vector<uint64_t> spans = {};
};

// The text of a part, in JSON. It is made in steps, since a day has tens of thousands of values.
class HistoryText {
 public:
  // So many take less than a millisecond.
  static constexpr size_t values_per_step = 4'000;

  explicit HistoryText(HistoryPart part);
  // Returns whether the text is whole.
  bool step();
  // REQUIRES: it is whole.
  std::string take() { return std::move(text_); }

 private:
  const HistoryPart part_;
  const size_t rows_;
  size_t next_ = 0;  // The value that comes next, column by column.
  std::string text_;
};

// The last values of some columns, one row for each `step` of time, at most `rows_max` of them.
class Rows {
 public:
  Rows(std::span<const Column> columns, Nanos step, size_t rows_max);

  // `values`: a count, or how often it has happened so far, for each column. Adds a row if a step
  // has gone by since the last one.
  void add(Nanos now, std::span<const uint64_t> values);
  // The newest `count` rows, or all if there are fewer.
  HistoryPart newest(size_t count, Nanos now) const;
  SavedRows save() const;
  // Takes back what was saved, up to the rows that the time since then has left.
  // REQUIRES: nothing was added.
  void restore(const SavedRows& saved, Nanos now);
  size_t size() const { return values_.size() / columns_.size(); }
  Nanos step() const { return step_; }

 private:
  // `row`: from the oldest one on.
  float value_at(size_t row, size_t column) const {
    return values_[(oldest_ + row) % size() * columns_.size() + column];
  }

  const std::span<const Column> columns_;
  const Nanos step_;
  const size_t rows_max_;
  std::vector<float> values_;   // Row by row. Once full it is a ring.
  size_t oldest_ = 0;           // The row that is overwritten next.
  std::vector<uint64_t> last_;  // The values at the last row. Empty: none was given yet.
  Nanos last_at_ = 0;           // When the newest row ended.
};

// How far back a history goes, and the time from one value to the next, in seconds. Spans of the
// same step are parts of the longest of them.
struct HistorySpan {
  uint64_t seconds;
  uint64_t step_seconds;
};

// The same columns over several spans.
class Series {
 public:
  // `spans`: from the shortest to the longest.
  Series(std::span<const Column> columns, std::span<const HistorySpan> spans);

  void add(Nanos now, std::span<const uint64_t> values);
  // `span_seconds`: one of the spans, or 0 for the shortest. None: there is no such span.
  std::optional<HistoryPart> part(uint64_t span_seconds, Nanos now) const;
  // All but the shortest step, whose values are of the last minutes.
  SavedHistory save() const;
  // REQUIRES: nothing was added.
  void restore(const SavedHistory& saved, Nanos now);
  // "600, 7200, 86400".
  std::string spans_text() const;

 private:
  const std::span<const HistorySpan> spans_;
  std::vector<Rows> rows_;  // One for each step.
};

class History {
 public:
  // These are the spans that there are. The API tells them with each answer, and the console offers
  // what it is told.
  static constexpr HistorySpan server_spans[] = {
      {600, 1}, {7'200, 10}, {86'400, 10}, {2'592'000, 600}};
  static constexpr HistorySpan tube_spans[] = {{3'600, 10}, {86'400, 300}};
  static constexpr size_t tubes_max = 1'000;
  // A tube that has been gone for so long is forgotten.
  static constexpr Nanos kept_after_end = 3600 * nanos_per_second;

  History();

  // Once a second. It looks at a thousand tubes at each call.
  void on_second(engine::EngineView engine, Nanos now);
  const Series& server() const { return server_; }
  // What an earlier run of the server has saved. REQUIRES: no second has gone by.
  void restore_server(const SavedHistory& saved, Nanos now) { server_.restore(saved, now); }
  // Null: there is no history of the tube.
  const Series* tube(const std::string& name) const;
  // The longest oldest_ready_age of all tubes, as they were when all were last looked at. 0: no job
  // was ready.
  Nanos oldest_ready(Nanos now) const {
    return oldest_ready_since_ == none ? 0 : now - oldest_ready_since_;
  }
  struct Gone {
    std::string name;
    Nanos since = 0;  // When it was last seen.
  };
  // The tubes that are no longer there, in the order of their names. One is remembered for
  // kept_after_end.
  std::vector<Gone> gone(engine::EngineView engine) const;
  size_t tubes() const { return tubes_.size(); }

 private:
  struct OfTube {
    Series series;
    Nanos seen = 0;
  };

  void add_tube(const TubeStats& tube, Nanos now);

  Series server_;
  std::map<std::string, OfTube> tubes_;
  static constexpr Nanos none = INT64_MAX;
  Nanos oldest_ready_since_ = none;  // Since when that job was ready.
  Nanos oldest_so_far_ = none;       // The same of the tubes that this walk has looked at.
  TubeId next_ = 0;                  // The first tube that the next call looks at.
};

}  // namespace perennial::http
