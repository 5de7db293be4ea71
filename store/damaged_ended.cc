#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>
#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "engine/types/logfmt.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// What a store does about damaged blocks of ended jobs and of their order: P11. store/damage keeps
// them from RocksDB. Only a start that knows of such blocks reads ended jobs, all of them.
namespace perennial::store {
// A row of `ended_order` by its key. None: it is not what was written.
struct EndedPlaceRow {
  std::string key;
  std::optional<EndedOrder> row;
};

// The two families, compared.
struct EndedDifference {
  uint64_t ended = 0;  // How many rows there are.
  uint64_t in_order = 0;
  std::vector<EndedOrder> without_place = {};   // Rows of `ended` that no row of the order names.
  std::vector<EndedPlaceRow> without_job = {};  // The reverse.
  // Rows of the order that are damaged or in no place of their tube: of jobs that went before.
  std::vector<EndedPlaceRow> outside = {};
};

namespace {

bool has_place(const EndedSpans& spans, const EndedOrder& order) {
  const auto span = spans.find(order.tube);
  return span != spans.end() && span->second.first <= order.place &&
         order.place < span->second.next;
}

// Passes over a family. A failed read ends it.
template <typename Take>
Status read_all_rows(EndedAccess& access, Family family, const Take& take) {
  rocksdb::ReadOptions how = access.how;
  how.fill_cache = false;
  how.readahead_size = 2 << 20;
  const TableErrors errors;
  const std::unique_ptr<rocksdb::Iterator> at(
      access.db->NewIterator(how, access.db.family(family)));
  for (at->SeekToFirst(); at->Valid(); at->Next()) take(view(at->key()), view(at->value()));
  if (errors.contains(at->status())) access.unread = {.family = family};
  return from_rocksdb(at->status());
}

// The keys of the two families are in different orders. So the ids in the order are kept in memory,
// eight bytes each.
Result<EndedDifference> compare_ended_rows(EndedAccess& access, const EndedSpans& spans) {
  EndedDifference out;
  std::vector<JobId> ids;
  Status read = read_all_rows(access, Family::EndedOrder, [&](auto key, auto value) {
    ++out.in_order;
    Result<EndedOrder> row = decode_ended_order(key, value);
    if (row.ok() && has_place(spans, *row)) return ids.push_back(row->job);
    out.outside.push_back({.key = std::string(key), .row = {}});
    if (row.ok()) out.outside.back().row = row.take();
  });
  if (!read.ok()) return read;
  std::ranges::sort(ids);
  std::vector<JobId> missing;
  size_t next = 0;
  read = read_all_rows(access, Family::Ended, [&](auto key, auto value) {
    ++out.ended;
    const Result<JobId> id = decode_job_key(Family::Ended, key);
    if (!id.ok()) return;
    while (next < ids.size() && ids[next] < *id) missing.push_back(ids[next++]);
    if (next < ids.size() && ids[next] == *id) {
      ++next;
      return;
    }
    const Result<EndedJob> job = decode_ended(key, value);
    if (job.ok()) out.without_place.push_back(order_of(*job));
  });
  if (!read.ok()) return read;
  missing.insert(missing.end(), ids.begin() + static_cast<long>(next), ids.end());
  if (missing.empty()) return out;
  read = read_all_rows(access, Family::EndedOrder, [&](auto key, auto value) {
    Result<EndedOrder> row = decode_ended_order(key, value);
    const bool is_missing =
        row.ok() && has_place(spans, *row) && std::ranges::binary_search(missing, row->job);
    if (is_missing) out.without_job.push_back({.key = std::string(key), .row = row.take()});
  });
  return read.ok() ? Result(std::move(out)) : Result<EndedDifference>(std::move(read));
}

// Why damaged blocks do not account for what was found, which is another loss then. Empty: they do.
// `ended`, `in_order`: the numbers of rows by the account of the tables.
std::string unexplained(const EndedDifference& found, const DamagedEnded& damaged, uint64_t ended,
                        uint64_t in_order) {
  const bool is_counted = difference_of(found.ended, ended) <= damaged.ids.difference_max() &&
                          difference_of(found.in_order, in_order) <= damaged.order_rows_max;
  if (!is_counted) {
    return fmt::format(
        "{} and {} hold {} and {} rows by the account of their tables, and {} and "
        "{} were found",
        name_of(Family::Ended), name_of(Family::EndedOrder), ended, in_order, found.ended,
        found.in_order);
  }
  uint64_t others = 0;  // That no block of `ended` accounts for.
  for (const EndedOrder& job : found.without_place) others += damaged.ids.contains(job.job) ? 0 : 1;
  for (const EndedPlaceRow& place : found.without_job) {
    others += damaged.ids.contains(place.row->job) ? 0 : 1;
  }
  if (others <= damaged.order_rows_max) return "";
  return fmt::format("{} rows of {} and {} have no other one, which no damaged block accounts for",
                     others, name_of(Family::Ended), name_of(Family::EndedOrder));
}

}  // namespace

class Store::Impl::EndedComparison {
 public:
  EndedComparison(Impl& impl, const EndedDifference& found, const DamagedEnded& damaged,
                  const DamagedIds& damaged_bodies, const EndedSpans& spans)
      : impl_(impl),
        found_(found),
        damaged_(damaged),
        damaged_bodies_(damaged_bodies),
        spans_(spans) {}

  // Makes them fit, in one batch.
  Status run() {
    impl_.writes.Clear();
    impl_.add_commit_row();
    for (const EndedPlaceRow& place : found_.outside) remove(place);
    for (const EndedPlaceRow& place : found_.without_job) {
      remove(place);
      if (Status done = impl_.remove_body_and_notes(place.row->job); !done.ok()) return done;
    }
    for (const EndedOrder& job : found_.without_place) {
      const Result<bool> is_there = is_placeable(job);
      if (!is_there.ok()) return is_there.status();
      Status done = *is_there ? put_place(job) : remove(job);
      if (!done.ok()) return done;
    }
    return is_over() ? Status() : impl_.write(true);
  }
  bool is_over() const { return removed_ == 0 && placed_ == 0; }
  std::string fields() const {
    return fmt::format("removed={} places_written_again={}", removed_, placed_);
  }

 private:
  void remove(const EndedPlaceRow& place) {
    impl_.remove_row(Family::EndedOrder, place.key);
    free_.insert(place.key);
    ++removed_;
  }
  Status remove(const EndedOrder& job) {
    impl_.remove_row(Family::Ended, view(job_key(job.job)));
    ++removed_;
    return impl_.remove_body_and_notes(job.job);
  }
  Status put_place(const EndedOrder& job) {
    const std::string key = ended_order_key(job.tube, job.place);
    const rocksdb::Slice key_part = slice(key);
    const auto value = encode(job);
    const rocksdb::Slice value_part = slice(view(value));
    impl_.put_row(Family::EndedOrder, {&key_part, 1}, {&value_part, 1});
    free_.erase(key);
    taken_.insert(key);
    ++placed_;
    return {};
  }
  // Whether only the place of the job is lost. The row of one that went may be back when its
  // deletion was in a damaged block. Then its body went, unless that is back, too.
  Result<bool> is_placeable(const EndedOrder& job) const {
    if (!has_place(spans_, job)) return false;
    if (damaged_.ids.contains(job.job) && damaged_bodies_.contains(job.job)) return false;
    Result<bool> has_body = impl_.has_row(Family::Bodies, job.job);
    if (!has_body.ok() || !*has_body) return has_body;
    const std::string key = ended_order_key(job.tube, job.place);
    if (free_.contains(key)) return true;
    if (taken_.contains(key)) return false;
    const auto row = impl_.read_ended(nullptr, [&](EndedAccess& access) {
      return read_ended_place(access, job.tube, job.place);
    });
    return row.ok() ? Result(!*row) : Result<bool>(row.status());
  }

  Impl& impl_;
  const EndedDifference& found_;
  const DamagedEnded& damaged_;
  const DamagedIds& damaged_bodies_;
  const EndedSpans& spans_;
  absl::flat_hash_set<std::string> free_;   // Keys whose rows go with the batch,
  absl::flat_hash_set<std::string> taken_;  // and those that it puts.
  uint64_t removed_ = 0;
  uint64_t placed_ = 0;
};

// Compares the two families after damage, and makes them fit:
//
// - A place without a job: the row of the job is lost, or the job went before. The place goes, with
//   a body and notes that are left.
// - A job without a place that is there with its body: the place is lost. All that it has said is
//   in the row of the job, and it is written again.
// - Any other job without a place went before, and is back. It goes.
//
// When nothing is missing or back and the numbers agree, the damage is over. What cannot be read is
// left for the next start, because no start needs an ended job.
Status Store::Impl::compare_ended(const DamagedEnded& damaged, const DamagedIds& damaged_bodies,
                                  bool counts_agree) {
  if (db->family(Family::Ended) == nullptr) return {};
  const Result<EndedDifference> found = read_ended(
      nullptr, [&](EndedAccess& access) { return compare_ended_rows(access, ended_spans); });
  if (!found.ok()) {
    inform("store.damage_of_ended",
           fmt::format("problem={}", logfmt_text(found.status().message())));
    return {};
  }
  const std::string why =
      unexplained(*found, damaged, rows_of(Family::Ended), rows_of(Family::EndedOrder));
  if (!why.empty()) return {StatusCode::Corruption, why};
  rows[place_of(Family::Ended)] = found->ended;
  rows[place_of(Family::EndedOrder)] = found->in_order;
  EndedComparison comparison(*this, *found, damaged, damaged_bodies, ended_spans);
  if (Status done = comparison.run(); !done.ok()) return done;
  const std::vector<DamagedBlock> blocks = containment.blocks();
  const auto count = std::ranges::count_if(
      blocks, [](const DamagedBlock& block) { return is_of_ended_jobs(block.family); });
  inform("store.damage_of_ended", fmt::format("blocks={} {}", count, comparison.fields()));
  if (!comparison.is_over() || !counts_agree) return {};
  if (Status done = containment.forget(**db, Family::Ended); !done.ok()) return done;
  return containment.forget(**db, Family::EndedOrder);
}

}  // namespace perennial::store
