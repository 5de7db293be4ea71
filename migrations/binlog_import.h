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

// The result of reading a binlog. All counts are of what was read.
struct BinlogSummary {
  uint64_t files = 0;
  uint64_t records = 0;
  // Short records of jobs without a full record: beanstalkd has deleted the file with the full
  // record, because the job was deleted or copied into a newer file.
  uint64_t orphans = 0;
  // The jobs that remain. Reserved jobs are counted as ready.
  StateCounts jobs;
  uint64_t tubes = 0;
  uint64_t body_bytes = 0;
  JobId next_id = 1;
  // Where a file ends within a record. A crash does not leave it so: beanstalkd gives each file its
  // full size first, and a crash leaves zeros.
  std::vector<std::string> torn;
  // Where a record has an invalid field. The rest of that file is not read.
  std::vector<std::string> damaged;
};

// beanstalkd's binlog, replayed: every job as a restart of beanstalkd would have it. The order of
// buried jobs is kept, which a restart of beanstalkd loses. Holds the mapped files and beanstalkd's
// own lock, so that no beanstalkd writes there meanwhile. Never writes into the directory of the
// binlog.
class Binlog {
 public:
  // NotFound: the directory has no binlog. Locked: a beanstalkd uses it. Io: a file cannot be read.
  // Unsupported: a file has an unknown version or byte order.
  static Result<std::unique_ptr<Binlog>> open(const std::string& dir);
  ~Binlog();
  Binlog(const Binlog&) = delete;
  Binlog& operator=(const Binlog&) = delete;

  // Reads all files. Delays that end at `now` or earlier are over.
  void replay(Nanos now);
  const BinlogSummary& summary() const { return summary_; }

  // Writes all jobs into a new data directory. The directory gets its name only when it is
  // complete. InvalidArgument: there is already a file or directory of that name. REQUIRES:
  // replay() was called.
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
  void finish_jobs(Nanos now);
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
