#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/transition.h"

namespace perennial::store {

// The file lost-jobs.jsonl of a repair: a line of JSON for each job that is lost, with all that is
// left of it. "lost" is "body", and then the fields of its row follow, as in a dump; or it is
// "row", and then "body_base64" follows.
class LostJobs {
 public:
  // `tubes`: the names by number. They must outlive this.
  explicit LostJobs(const std::map<TubeId, std::string>& tubes) : tubes_(tubes) {}

  // `notes`: those of the job that can be read. A job without a row has none.
  void add(JobId id, const JobRow* row, std::optional<std::string_view> body,
           const std::vector<Note>& notes = {});
  const std::string& lines() const { return lines_; }

 private:
  const std::map<TubeId, std::string>& tubes_;
  std::string lines_;
};

}  // namespace perennial::store
