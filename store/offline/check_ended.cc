#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "store/offline/check_parts.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

// The check of jobs that have ended against the order and the places of their tubes, in both
// directions. A start counts these rows and reads none, so it is not stopped by one that does not
// fit.
namespace perennial::store {
namespace {

class OrderCheck {
 public:
  OrderCheck(const Database& db, FaultList& faults) : db_(db), faults_(faults) {}

  void row(std::string_view key, std::string_view value) {
    const Result<EndedOrder> order = decode_ended_order(key, value);
    if (!order.ok()) return faults_.add_contained(Family::EndedOrder, key, order.status());
    const auto fault = [&](std::string_view what) {
      faults_.add_contained(Family::EndedOrder, key,
                            fmt::format("it names ended job {}, which {}", order->job, what));
    };
    rocksdb::PinnableSlice found;
    const auto id = job_key(order->job);
    const auto got = db_->Get({}, db_.family(Family::Ended), slice(view(id)), &found);
    if (got.IsNotFound()) return fault("is missing");
    if (!got.ok()) return;  // That it cannot be read is reported already, as below.
    const Result<EndedJob> job = decode_ended(view(id), view(found));
    if (!job.ok()) return;
    if (job->tube != order->tube || job->place != order->place) return fault("has another place");
    if (order_of(*job) != *order) fault("says something else of itself");
  }

 private:
  const Database& db_;
  FaultList& faults_;
};

}  // namespace

void check_ended_order(const Database& db, const CheckOptions& options, const CheckSummary& summary,
                       bool has_all, FaultList& faults) {
  if (db.family(Family::EndedOrder) == nullptr) return;
  OrderCheck check(db, faults);
  uint64_t rows = 0;
  const bool is_whole = check_each_row(db, Family::EndedOrder, faults,
                                       [&](std::string_view key, std::string_view value) {
                                         ++rows;
                                         check.row(key, value);
                                       });
  // A start compares these numbers. They may differ by what damaged blocks have held.
  const uint64_t allowed = known_damage_of_ended(db, options).difference_max();
  const bool agree = difference_of(rows, summary.ended) <= allowed;
  if (is_whole && has_all && !agree) faults.stop_start();
}

// A row that is there is compared by check_ended_order().
void check_order_of(const Database& db, const EndedJob& job, const MetaFacts& meta,
                    FaultList& faults) {
  const auto fault = [&](std::string what) {
    faults.add_contained(Family::Ended, view(job_key(job.row.id)), std::move(what));
  };
  rocksdb::ColumnFamilyHandle* const family = db.family(Family::EndedOrder);
  rocksdb::PinnableSlice value;
  const std::string key = ended_order_key(job.tube, job.place);
  // That it cannot be read is reported already.
  if (family == nullptr || db->Get({}, family, slice(key), &value).IsNotFound()) {
    fault("it is not in the order of its tube");
  }
  if (!meta.is_whole) return;
  const auto span = meta.ended.find(job.tube);
  if (span == meta.ended.end()) return fault("its tube has no ended jobs by its row in meta");
  if (job.place < span->second.first || job.place >= span->second.next) {
    fault(fmt::format("its place, {}, is not among those of its tube, {} to {}", job.place,
                      span->second.first, span->second.next - 1));
  }
}

}  // namespace perennial::store
