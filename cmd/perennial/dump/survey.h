#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "cmd/perennial/dump/dump_format.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/reader.h"

namespace perennial::tool {

// The totals of a tube.
struct TubeTotals {
  std::string name = {};
  std::array<uint64_t, store::job_states.size()> jobs = {};  // By state.
  uint64_t bytes = 0;                                        // The bytes of bodies.
  Nanos oldest = 0;                                          // The creation time of the oldest job.
  std::optional<TubePaused> pause = {};

  uint64_t job_count() const;
};

// The first pass over the rows of a data directory: selects jobs and computes totals. Reads no
// body. Its memory depends on the number of tubes, not on the number of jobs. If not everything is
// selected, it also has the ids of the selected jobs with a key.
class Survey {
 public:
  // NotFound: a tube or an id of the selection does not exist. Corruption: the rows are
  // inconsistent.
  static Result<Survey> make(const store::Reader& reader, DumpSelection selection);

  // Visits the selected jobs again, in the order of ids, each with the name of its tube.
  Status each_job(const store::Reader& reader,
                  const std::function<Status(const JobRow&, const std::string& tube)>& take) const;
  // Visits all schedules by name if everything is selected, and none otherwise.
  Status each_schedule(
      const store::Reader& reader,
      const std::function<Status(const ScheduleStored&, std::string_view body)>& take) const;
  // Visits the keys that name a selected job, and all keys if everything is selected.
  Status each_key(const store::Reader& reader,
                  const std::function<Status(const KeyStored&)>& take) const;

  // Totals by tube number.
  const std::map<TubeId, TubeTotals>& tubes() const { return tubes_; }
  const DumpSelection& selection() const { return selection_; }
  // Counts by state.
  const std::array<uint64_t, store::job_states.size()>& jobs() const { return jobs_; }
  JobId highest_id() const { return highest_id_; }
  // The header of the dump. Without a selection it names every tube, otherwise the tubes of the
  // selected jobs.
  DumpHeader header(const store::Reader& reader) const;

 private:
  explicit Survey(DumpSelection selection) : selection_(std::move(selection)) {}
  Status add_tube(TubeId id, std::string_view name);
  // The dump has what only this version and later ones have.
  void need(uint64_t version) { version_ = std::max(version_, version); }
  bool is_selected(const JobRow& row) const;
  void count(const JobRow& row);
  Status check_found(const store::Reader& reader) const;

  DumpSelection selection_;
  std::optional<TubeId> wanted_tube_;
  std::map<TubeId, TubeTotals> tubes_;
  std::vector<SettingsStored> settings_;  // By the name of the tube.
  absl::flat_hash_set<JobId> with_key_;
  std::array<uint64_t, store::job_states.size()> jobs_ = {};
  uint64_t job_count_ = 0;
  JobId highest_id_ = 0;
  uint64_t version_ = dump_version_of_1_0;  // The oldest that has all of it.
};

}  // namespace perennial::tool
