#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/live/export_tally.h"
#include "cmd/perennial/live/export_walk.h"

namespace perennial::tool {

// Moves the jobs of one tube from a server to another. A job is deleted at the source only when
// the target has confirmed it, and a window of jobs is finished before the next is begun, so that
// at most a window is ever on both sides, and no job on none.
class ExportTube {
 public:
  struct Setup {
    ServerConnection& source;
    ServerConnection& target;
    std::string tube;
    size_t window_jobs = 64;
    bool target_reserves_by_id = true;  // Without that a buried job cannot be buried there.
    ExportTally& tally;
    std::function<bool()> stopped;   // Asked between two windows.
    std::function<void()> progress;  // Told after each.
  };

  explicit ExportTube(const Setup& setup) : setup_(setup), walk_(setup.source, setup.window_jobs) {}

  // Not ok: a server is gone, or the target takes no more jobs. Whatever happens, what was taken
  // and not moved is put back as it was, as long as the source answers.
  Status run();

 private:
  enum class Walk : unsigned char { Ready, First };
  struct Copy {
    const TakenJob* job;
    JobId id;  // At the target.
  };

  Status prepare();
  Status copy_pause();
  Status walk(Walk how, JobState state);
  Status move(std::vector<TakenJob> jobs);
  std::vector<TakenJob> without_refused(std::vector<TakenJob> jobs);
  Status copy(std::vector<TakenJob>& jobs, std::vector<Copy>& copies);
  void add_put(const TakenJob& job);
  Status receive_puts(std::vector<TakenJob>& jobs, std::vector<Copy>& copies);
  void refuse(TakenJob& job, const wire::ClientReply& reply);
  Status bury_copies(const std::vector<Copy>& copies);
  Status delete_originals(const std::vector<Copy>& copies);
  Status delete_copies(const std::vector<Copy>& copies);
  Status count_left();

  Setup setup_;
  ExportWalk walk_;
  std::vector<TakenJob> held_;   // Reserved here and not moved; without their bodies.
  std::set<JobId> refused_;      // By the target; not offered again.
  std::vector<JobId> unwanted_;  // At the target: it buried what it could not queue.
  std::string trouble_;          // What the source answered where it should have given a job.
  Status ended_;                 // Why no further window is begun.
};

}  // namespace perennial::tool
