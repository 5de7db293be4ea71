#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/api/json.h"
#include "engine/engine.h"
#include "engine/types/basic.h"

// The recent past, for the charts of the console. It is in memory only: a restart loses it, and
// Prometheus is for the long run.
namespace perennial::http {

// One line of a chart: a count as it is, or how often something happened in a second.
enum class Measure : uint8_t { Count, Rate };
struct Column {
  std::string_view name;
  Measure measure;
};

// The last values of some columns, one row for each `step` of time, at most `rows_max` of them.
class Rows {
 public:
  Rows(std::span<const Column> columns, Nanos step, size_t rows_max);

  // `values`: a count, or how often it has happened so far, for each column. Adds a row if a step
  // has gone by since the last one.
  void add(Nanos now, std::span<const uint64_t> values);
  // From the oldest row to the newest.
  Json to_json(Nanos now) const;
  size_t size() const { return values_.size() / columns_.size(); }

 private:
  const std::span<const Column> columns_;
  const Nanos step_;
  const size_t rows_max_;
  std::vector<float> values_;   // Row by row. Once full it is a ring.
  size_t oldest_ = 0;           // The row that is overwritten next.
  std::vector<uint64_t> last_;  // The values at the last row. Empty: none was given yet.
  Nanos last_at_ = 0;
};

class History {
 public:
  static constexpr size_t tubes_max = 1'000;
  // A tube that has been gone for so long is forgotten.
  static constexpr Nanos kept_after_end = 3600 * nanos_per_second;

  History();

  // Once a second. It looks at a thousand tubes at each call.
  void on_second(const engine::Engine& engine, Nanos now);
  // `span` in seconds: 600, 7200 or 86400. None: there is no such span.
  std::optional<Json> server(uint64_t span, Nanos now) const;
  // 3600 or 86400. None: there is no such span, or no history of the tube.
  std::optional<Json> tube(const std::string& name, uint64_t span, Nanos now) const;
  // How long the job that is next in its tube has been there, the longest of all tubes, as they
  // were when all were last looked at. 0: no job was ready.
  Nanos oldest_ready(Nanos now) const {
    return oldest_ready_put_ == none ? 0 : now - oldest_ready_put_;
  }
  struct Gone {
    std::string name;
    Nanos since = 0;  // When it was last seen.
  };
  // The tubes that are no longer there, in the order of their names. One is remembered for
  // kept_after_end.
  std::vector<Gone> gone(const engine::Engine& engine) const;
  size_t tubes() const { return tubes_.size(); }

 private:
  struct OfTube {
    Rows fine;
    Rows coarse;
    Nanos seen = 0;
  };

  void add_tube(const TubeStats& tube, Nanos now);

  std::array<Rows, 3> server_;
  std::map<std::string, OfTube> tubes_;
  static constexpr Nanos none = INT64_MAX;
  Nanos oldest_ready_put_ = none;  // When that job was put.
  Nanos oldest_so_far_ = none;     // The same of the tubes that this walk has looked at.
  TubeId next_ = 0;                // The first tube that the next call looks at.
};

}  // namespace perennial::http
