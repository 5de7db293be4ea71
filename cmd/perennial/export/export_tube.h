#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/export/export_tally.h"
#include "cmd/perennial/export/export_walk.h"

namespace perennial::tool {

// Moves the jobs of one tube from a server to another. A job is deleted at the source only after
// the target has confirmed it. Each window of jobs is completed before the next one begins. At most
// one window of jobs is therefore ever on both servers, and no job is on none.
class ExportTube {
 public:
  struct Setup {
    ServerConnection& source;
    ServerConnection& target;
    std::string tube;
    size_t window_jobs = 64;
    // Without reserve-job a buried job cannot be buried at the target.
    bool target_reserves_by_id = true;
    // The source counts attempts. A job that stays there has none more.
    bool source_counts_attempts = false;
    // What the target can be given beside beanstalkd's protocol.
    ExtensionSet target_allows = {};
    // Moves also jobs with options that the target does not allow, without them.
    bool drops_extras = false;
    ExportTally& tally;
    std::function<bool()> stopped;   // Called between two windows.
    std::function<void()> progress;  // Called after each window.
  };

  explicit ExportTube(const Setup& setup)
      : setup_(setup), walk_(setup.source, setup.window_jobs, setup.source_counts_attempts) {}

  // Fails if a connection ends or the target accepts no more jobs. In every case jobs that were
  // reserved and not moved are returned to their earlier state, as long as the source answers.
  Status run();

 private:
  enum class Walk : unsigned char { Ready, First };
  struct Copy {
    const TakenJob* job;
    JobId id;  // The id at the target.
  };

  Status prepare();
  Status copy_settings(const StatsReply& stats);
  Status copy_pause(const StatsReply& stats);
  Status walk(Walk how, JobState state);
  Status move(std::vector<TakenJob> jobs);
  std::vector<TakenJob> without_refused(std::vector<TakenJob> jobs);
  void leave_extras(std::vector<TakenJob>& jobs);
  Status copy(std::vector<TakenJob>& jobs, std::vector<Copy>& copies);
  void add_put(const TakenJob& job);
  Status receive_puts(std::vector<TakenJob>& jobs, std::vector<Copy>& copies);
  Status compare_bodies(const std::vector<Copy>& others, std::vector<Copy>& copies);
  Status explain_draining();
  void refuse(TakenJob& job, const wire::ClientReply& reply);
  Status bury_copies(const std::vector<Copy>& copies);
  Status delete_originals(const std::vector<Copy>& copies);
  Status delete_copies(const std::vector<Copy>& copies);
  // `is_over`: all that was there has been offered to the target.
  Status count_left(bool is_over);

  Setup setup_;
  ExportWalk walk_;
  std::vector<TakenJob> held_;   // Reserved at the source and not moved, without bodies.
  std::set<JobId> refused_;      // Jobs that the target refused and that are not offered again.
  std::vector<JobId> unwanted_;  // Copies that the target buried because it could not queue them.
  std::string trouble_;          // The source's answer where it should have sent a job.
  std::string closed_;           // Why the tube at the target takes no job. Empty: it does.
  uint64_t draining_jobs_ = 0;   // Jobs that were answered DRAINING, not yet explained.
  Status ended_;                 // Why no further window is started.
};

}  // namespace perennial::tool
