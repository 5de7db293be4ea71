#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perennial/offline/dump_format.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/reader.h"

namespace perennial::tool {

// What a tube holds.
struct TubeTotals {
  std::string name = {};
  std::array<uint64_t, store::job_states.size()> jobs = {};  // By state.
  uint64_t bytes = 0;                                        // Of bodies.
  Nanos oldest = 0;                                          // When its oldest job was created.
  std::optional<TubePaused> pause = {};

  uint64_t job_count() const;
};

// A first pass over the rows of a data directory: which jobs are selected, and what there is of
// them. Reads no body. Its memory grows with tubes, not with jobs.
class Survey {
 public:
  // NotFound: the selection names a tube, or an id, that is not there. Corruption: the rows do not
  // fit together.
  static Result<Survey> make(const store::Reader& reader, DumpSelection selection);

  // The selected jobs again, in the order of ids, and the name of the tube of each.
  Status each_job(const store::Reader& reader,
                  const std::function<Status(const JobRow&, const std::string& tube)>& take) const;

  // By number.
  const std::map<TubeId, TubeTotals>& tubes() const { return tubes_; }
  const DumpSelection& selection() const { return selection_; }
  // By state.
  const std::array<uint64_t, store::job_states.size()>& jobs() const { return jobs_; }
  JobId highest_id() const { return highest_id_; }
  // What a dump says of itself. Without a selection it names every tube, otherwise those of its
  // jobs.
  DumpHeader header(const store::Reader& reader) const;

 private:
  explicit Survey(DumpSelection selection) : selection_(std::move(selection)) {}
  Status add_tube(TubeId id, std::string_view name);
  bool is_selected(const JobRow& row) const;
  void count(const JobRow& row);
  Status check_found(const store::Reader& reader) const;

  DumpSelection selection_;
  std::optional<TubeId> wanted_tube_;
  std::map<TubeId, TubeTotals> tubes_;
  std::array<uint64_t, store::job_states.size()> jobs_ = {};
  uint64_t job_count_ = 0;
  JobId highest_id_ = 0;
};

}  // namespace perennial::tool
