#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "migrations/binlog_file.h"

namespace perennial::store {
class Builder;
}  // namespace perennial::store

namespace perennial::migrations {

// What reading a binlog came to. Every record is counted under one of these.
struct BinlogSummary {
  uint64_t files = 0;
  uint64_t records = 0;
  uint64_t orphans = 0;  // Short records of jobs that no file brings: they were deleted or moved.
  StateCounts jobs;      // Those that are left, reserved ones as ready.
  uint64_t tubes = 0;
  uint64_t body_bytes = 0;
  JobId next_id = 1;
  std::vector<std::string> torn;  // Where a file ends within a record: a crash of beanstalkd.
  std::vector<std::string>
      damaged;  // Where a record makes no sense; the rest of that file is not read.
};

// beanstalkd's binlog, replayed: every job as a restart of beanstalkd would have it, and the order
// of buried jobs as it was, which a restart of beanstalkd loses. Holds the files mapped and
// beanstalkd's own lock, so that no server writes there meanwhile. Never writes there itself.
class Binlog {
 public:
  // NotFound: there is no binlog there. Locked: a server uses it.
  static Result<std::unique_ptr<Binlog>> open(const std::string& dir);
  ~Binlog();
  Binlog(const Binlog&) = delete;
  Binlog& operator=(const Binlog&) = delete;

  // Reads all files. `now` decides which delays are over.
  void replay(Nanos now);
  const BinlogSummary& summary() const { return summary_; }

  // Writes all jobs into a new data directory. It appears under its name when it is complete.
  // InvalidArgument: there is something of that name. REQUIRES: replay() succeeded.
  Status write_to(const std::string& dir, Nanos now) const;

 private:
  struct Job {
    JobRow row;
    std::string_view tube;
    std::string_view body;
  };

  explicit Binlog(std::string dir) : dir_(std::move(dir)) {}
  Status lock();
  Status find_files();
  void replay_file(BinlogFile& file);
  void replay_record(const BinlogRecord& record);
  void settle(Nanos now);
  Status write_jobs(store::Builder& builder) const;

  const std::string dir_;
  int lock_ = -1;
  std::vector<std::unique_ptr<BinlogFile>> files_;
  std::unordered_map<JobId, Job> jobs_;
  JobId highest_id_ = 0;
  uint64_t next_bury_ = 1;
  BinlogSummary summary_;
};

}  // namespace perennial::migrations
