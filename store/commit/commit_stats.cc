#include "store/commit/commit_stats.h"

namespace perennial::store {

CommitStats::CommitStats(const Options& options) {
  facts_.log_bytes_max = options.log_bytes_max;
  facts_.durability = durability_name(options.durability);
  facts_.state = "ok";
}

void CommitStats::on_batch(const Batch& batch) {
  facts_.records_written += batch.transitions();
  batch_jobs_.add(batch.jobs().size());
  facts_.batches.jobs.record(batch.jobs().size());
  facts_.batches.bytes.record(batch.bytes());
}

void CommitStats::refresh(Nanos now, const LogFiles& logs) {
  due_ = now + nanos_per_second;
  facts_.log_oldest_index = logs.oldest_index;
  facts_.log_current_index = logs.newest_index;
  facts_.sync_us_p99 = sync_us_.p99();
  facts_.batch_jobs_mean = batch_jobs_.mean();
}

}  // namespace perennial::store
