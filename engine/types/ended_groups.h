#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/ended_job.h"
#include "engine/types/option_values.h"

// Jobs that have ended, of all tubes, the newest first. Those that ended together are one group, so
// that a flush of a thousand jobs is one line of a list.
namespace perennial {

// Jobs of a tube that ended in the same way and by the same user are one group while each of them
// ended at most this long after another one.
inline constexpr Nanos ended_group_gap = 10 * nanos_per_second;

// A job's place in the order of all: the newest comes first; of those that ended at the same time
// the one whose tube has the lower name, and in a tube the later place.
struct EndedPosition {
  Nanos at = 0;
  std::string tube = {};
  uint64_t place = 0;

  bool operator==(const EndedPosition&) const = default;
};

// The ended jobs of a tube that are kept: those in these places that ended at this time or later.
struct KeptOfTube {
  std::string tube = {};
  EndedSpan span = {};
  Nanos since = 0;

  bool operator==(const KeptOfTube&) const = default;
};
// What is_kept() says of all places of a span at once.
KeptOfTube kept_of(std::string_view tube, const TubeSettings& settings, const EndedSpan& span,
                   Nanos now);

struct EndedGroupsQuery {
  std::vector<KeptOfTube> tubes = {};       // In the order of names, each at most once.
  std::optional<EndedPosition> after = {};  // The job before the first. None: from the newest on.
  EndSet how = {JobEnd::Deleted, JobEnd::Flushed, JobEnd::Expired};
  std::optional<std::string> user = {};  // None: whoever ended them.
  size_t groups_max = 0;                 // At least 1.
  uint64_t jobs_max = 0;                 // How many are looked at: at least 1.
};

// The jobs that ended together, without those of an earlier page.
struct EndedGroup {
  struct End {
    JobId job = 0;
    Nanos at = 0;
    uint64_t place = 0;

    bool operator==(const End&) const = default;
  };
  std::string tube = {};
  JobEnd how = JobEnd::Deleted;
  std::string user = {};  // Empty: there are no users, or they expired.
  uint64_t jobs = 0;
  End newest = {};
  End oldest = {};

  bool operator==(const EndedGroup&) const = default;
};

struct EndedGroupsPage {
  std::vector<EndedGroup> groups = {};  // By their newest jobs.
  uint64_t looked_at = 0;               // Jobs, also those that do not fit.
  // EndedGroupsQuery::after of the next page. None: there are no more.
  std::optional<EndedPosition> next = {};
};

// Makes a page of the jobs in their order.
class EndedGrouping {
 public:
  // `query` outlives this.
  explicit EndedGrouping(const EndedGroupsQuery& query) : query_(query) {}

  // The next job. Null: it is not known. False: the page ends before it.
  bool take(const EndedPosition& position, const EndedJob* job);
  // `is_end`: there are no more jobs.
  EndedGroupsPage finish(bool is_end);

 private:
  bool add(const EndedJob& job);

  const EndedGroupsQuery& query_;
  EndedGroupsPage page_;
  // The oldest group of a tube, a way to end and a user.
  std::map<std::tuple<std::string, JobEnd, std::string>, size_t> oldest_;
};

}  // namespace perennial
