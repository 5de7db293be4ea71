#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/metrics_writer.h"
#include "engine/types/stats.h"
#include "engine/view/engine_view.h"

namespace perennial::http {

// Under which name a tube has series. Patterns are those of access::fits_pattern().
struct TubeChoice {
  // Tubes that fit one of these come first.
  std::vector<std::string> first = {};
  // A pattern, and the name under which all tubes that fit it are summed up, as is the tube of that
  // name. The first pattern that fits counts.
  std::vector<std::pair<std::string, std::string>> groups = {};
  // So many tubes have series of their own, apart from groups. The others are one, "{other}".
  size_t tubes_max = 1000;
  // Only tubes that fit are looked at.
  std::string match = "*";
};

// For the engine: tubes that fit one of `patterns` are measured one by one, or, if they are in a
// group, together with it.
MeasuredAs measured_as(std::vector<std::string> patterns,
                       std::vector<std::pair<std::string, std::string>> groups);

// Looks at all tubes, and then lists them by name, both in steps of bounded size. A tube that ended
// and came back while they were looked at is listed once.
class TubeCollector {
 public:
  // `choice` outlives this.
  explicit TubeCollector(const TubeChoice& choice) : choice_(choice) {}

  static constexpr size_t tubes_per_step = 100;

  // Returns whether all tubes were looked at.
  bool step(engine::EngineView engine);
  // REQUIRES: step() has returned true. Returns whether tubes() is whole. It needs no engine.
  bool list();

  using Tubes = std::map<std::string, TubeStats>;
  // Those that have series, by name. REQUIRES: list() has returned true.
  const Tubes& tubes() const { return listed_; }

  // ---- REQUIRES: step() has returned true.
  // How many are summed up as "{other}".
  uint64_t unlisted() const { return unlisted_; }
  // The highest ages of all tubes.
  Nanos oldest_ready() const { return oldest_ready_; }
  Nanos oldest_buried() const { return oldest_buried_; }

 private:
  void add(TubeStats&& tube);
  void add_to_sum(const std::string& name, const TubeStats& tube);
  void list_one(TubeStats&& tube);

  const TubeChoice& choice_;
  TubeId next_ = 0;
  // In the order of their numbers, each at most tubes_max. Deques, because to move thousands when
  // there is one more would hold the loop.
  std::deque<TubeStats> first_;  // Those that come first.
  std::deque<TubeStats> later_;
  Tubes listed_;
  Tubes sums_;
  uint64_t unlisted_ = 0;
  Nanos oldest_ready_ = 0;
  Nanos oldest_buried_ = 0;
};

// The families of tubes, some rows in each step.
class TubeFamilies {
 public:
  // Returns whether all are written.
  bool step(MetricsWriter& out, const TubeCollector::Tubes& tubes);

 private:
  size_t family_ = 0;
  bool has_begun_ = false;  // The family's head is written.
  TubeCollector::Tubes::const_iterator next_;
};

// The histograms of the tubes that are measured, some in each step.
class TubeTimesFamilies {
 public:
  // `asked`: only tubes that fit it, under their own names. Null: all of them, and groups, too.
  explicit TubeTimesFamilies(const TubeChoice* asked) : asked_(asked) {}
  // Returns whether all are written.
  bool step(MetricsWriter& out, const engine::TimesByName& records);

  static constexpr size_t histograms_per_step = 10;

 private:
  const TubeChoice* const asked_;
  size_t family_ = 0;
  bool has_begun_ = false;  // The family's head is written.
  // The last name that was looked at. Tubes come and end between two steps.
  std::string last_;
  uint64_t listed_ = 0;  // Of this family.
};

// The samples of a family by state; `tube` may be null.
void add_states(MetricsWriter& out, const StateCounts& jobs, const std::string* tube);

}  // namespace perennial::http
