#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <rocksdb/iterator.h>

#include "store/store_impl.h"
#include "store/types/rocks_status.h"

// Which rows of ended jobs a batch removes: P11. Whoever writes the batch names the jobs that it
// has. It may lack some that are here, or have some that are lost here, where a block was damaged:
// the nodes of a cluster have tables of their own. No row may be removed twice or put twice,
// because SingleDelete forbids it, and so this looks at what is here.
namespace perennial::store {
namespace {

// A row of `ended_order`. None: it is not what was written.
struct PlaceFound {
  uint64_t place = 0;
  std::optional<EndedOrder> row;
};

Result<std::vector<PlaceFound>> read_places(EndedAccess& access, const std::string& tube,
                                            const EndedSpan& span) {
  const std::string first = ended_order_key(tube, span.first);
  const std::string end = ended_order_key(tube, span.next);
  const rocksdb::Slice bound = slice(end);
  rocksdb::ReadOptions how = access.how;
  how.fill_cache = false;
  how.iterate_upper_bound = &bound;
  const TableErrors errors;
  const std::unique_ptr<rocksdb::Iterator> at(
      access.db->NewIterator(how, access.db.family(Family::EndedOrder)));
  std::vector<PlaceFound> out;
  for (at->Seek(slice(first)); at->Valid(); at->Next()) {
    Result<EndedOrder> row = decode_ended_order(view(at->key()), view(at->value()));
    PlaceFound& found = out.emplace_back();
    found.place = place_in_ended_order_key(view(at->key()));
    if (row.ok()) found.row = row.take();
  }
  if (errors.contains(at->status())) access.unread = {.family = Family::EndedOrder};
  if (!at->status().ok()) return from_rocksdb(at->status()).with("read places of ended jobs");
  return out;
}

}  // namespace

class Store::Impl::EndedRemoval {
 public:
  EndedRemoval(Impl& impl, const Batch& batch)
      : impl_(impl),
        batch_(batch),
        is_damaged_(impl.containment.version() != 0),
        looks_(is_damaged_ || !impl.cluster_id.empty()) {}

  Status run() {
    for (const EndedGone& gone : batch_.gone()) {
      if (Status done = remove(gone); !done.ok()) return done;
    }
    for (const JobEffect& job : batch_.jobs()) {
      if (job.ended) note_ended(*job.ended);
    }
    for (const auto& [tube, span] : batch_.spans()) {
      if (Status done = remove_passed_over(tube, span); !done.ok()) return done;
    }
    if (!is_damaged_) return {};
    for (const JobEffect& job : batch_.jobs()) {
      if (!job.ended) continue;
      if (Status done = clear_place_for(*job.ended); !done.ok()) return done;
    }
    return {};
  }

 private:
  // A store alone has read what goes in its own rows. A node that knows of no damage has all rows
  // of an ended job, or none: a start has removed the rest.
  Status remove(const EndedGone& gone) {
    if (!looks_) {
      remove_place(gone.tube, gone.place);
      remove_rows(gone.job, gone.notes);
      return {};
    }
    const Result<std::optional<EndedOrder>> order = impl_.read_ended(
        nullptr,
        [&](EndedAccess& access) { return read_ended_place(access, gone.tube, gone.place); });
    if (!order.ok()) return order.status();
    const bool is_here = *order && (*order)->job == gone.job;
    if (is_here) remove_place(gone.tube, gone.place);
    if (is_damaged_) return remove_rows_here(gone.job);
    if (is_here) remove_rows(gone.job, gone.notes);
    return {};
  }

  void note_ended(const EndedJob& job) {
    const auto [known, is_first] = first_ended_.try_emplace(job.tube, job.place);
    if (!is_first) known->second = std::min(known->second, job.place);
  }

  // The places of the tube that are in use before the batch, and in which nothing is behind it but
  // perhaps a job that ends in it. A tube without ended jobs begins anew at its first place.
  EndedSpan passed_over(const std::string& tube, const EndedSpan& before,
                        const EndedSpan& after) const {
    const auto ended = first_ended_.find(tube);
    const bool begins_anew = ended != first_ended_.end() && ended->second < before.next;
    if (begins_anew || after.empty()) return before;
    const uint64_t end = std::clamp(after.first, before.first, before.next);
    return {.first = before.first, .next = end};
  }

  // Whatever is left in places that the batch passes over goes. In most batches there are none, or
  // it names a job for each of them.
  Status remove_passed_over(const std::string& tube, const EndedSpan& after) {
    const auto before = impl_.ended_spans.find(tube);
    if (before == impl_.ended_spans.end()) return {};  // No place is in use.
    const EndedSpan passed = passed_over(tube, before->second, after);
    const auto& removed = removed_[tube];
    const auto is_passed = [&](uint64_t place) {
      return passed.first <= place && place < passed.next;
    };
    const auto named = static_cast<uint64_t>(std::ranges::count_if(removed, is_passed));
    if (named == passed.next - passed.first) return {};
    const Result<std::vector<PlaceFound>> found = impl_.read_ended(
        nullptr, [&](EndedAccess& access) { return read_places(access, tube, passed); });
    if (!found.ok()) return found.status();
    for (const PlaceFound& each : *found) {
      if (removed.contains(each.place)) continue;
      remove_place(tube, each.place);
      if (!each.row) continue;
      if (Status done = remove_rows_here(each.row->job); !done.ok()) return done;
    }
    return {};
  }

  // A row whose deletion was in a damaged block may be back in the place that the job takes.
  Status clear_place_for(const EndedJob& job) {
    if (removed_[job.tube].contains(job.place)) return {};
    const Result<std::vector<PlaceFound>> found =
        impl_.read_ended(nullptr, [&](EndedAccess& access) {
          return read_places(access, job.tube, {.first = job.place, .next = job.place + 1});
        });
    if (!found.ok()) return found.status();
    if (!found->empty()) remove_place(job.tube, job.place);
    return {};
  }

  void remove_place(std::string_view tube, uint64_t place) {
    impl_.remove_row(Family::EndedOrder, ended_order_key(tube, place));
    removed_[tube].insert(place);
  }
  void remove_rows(JobId job, uint32_t notes) {
    const auto key = job_key(job);
    impl_.remove_row(Family::Ended, view(key));
    impl_.remove_row(Family::Bodies, view(key));
    impl_.remove_notes(job, notes);
  }
  Status remove_rows_here(JobId job) {
    const Result<bool> is_here = impl_.has_row(Family::Ended, job);
    if (!is_here.ok()) return is_here.status();
    if (*is_here) impl_.remove_row(Family::Ended, view(job_key(job)));
    return impl_.remove_body_and_notes(job);
  }

  Impl& impl_;
  const Batch& batch_;
  const bool is_damaged_;  // The store knows of damaged blocks, so that any row may be missing.
  const bool looks_;
  // The places whose rows the batch has removed, by the names of tubes, which the batch owns.
  absl::flat_hash_map<std::string_view, absl::flat_hash_set<uint64_t>> removed_;
  // The first place of each tube in which a job ends.
  absl::flat_hash_map<std::string_view, uint64_t> first_ended_;
};

Status Store::Impl::remove_ended(const Batch& batch) {
  // Each ended job, and each that goes, has the span of its tube in the batch.
  return batch.spans().empty() ? Status() : EndedRemoval(*this, batch).run();
}

Status Store::Impl::read_ended_spans() {
  const std::unique_ptr<rocksdb::Iterator> at((*db)->NewIterator({}, db->family(Family::Meta)));
  const auto tag = meta_key(MetaTag::Ended);
  for (at->Seek(slice(view(tag))); at->Valid(); at->Next()) {
    const std::string_view key = view(at->key());
    if (!key.starts_with(view(tag))) break;
    Result<EndedTube> found = decode_ended_span(key, view(at->value()));
    if (!found.ok()) return found.take_status();
    ended_spans[found->tube] = found->span;
  }
  return from_rocksdb(at->status()).with("read where the ended jobs of tubes are");
}

Result<bool> Store::Impl::has_row(Family family, JobId id) {
  return read_ended(nullptr, [&](EndedAccess& access) -> Result<bool> {
    rocksdb::PinnableSlice value;
    const auto key = job_key(id);
    const TableErrors errors;
    const auto got = access.db->Get(access.how, access.db.family(family), slice(view(key)), &value);
    if (got.IsNotFound()) return false;
    if (errors.contains(got)) access.unread = {.family = family, .first = id, .last = id};
    return got.ok() ? Result(true) : Result<bool>(from_rocksdb(got).with("read an ended job"));
  });
}

Status Store::Impl::remove_body_and_notes(JobId job) {
  const Result<bool> has_body = has_row(Family::Bodies, job);
  if (!has_body.ok()) return has_body.status();
  if (*has_body) remove_row(Family::Bodies, view(job_key(job)));
  remove_notes(job, notes_max);
  return {};
}

void Store::Impl::remove_notes(JobId job, uint32_t count) {
  for (uint32_t place = 0; place < count; ++place) {
    must(writes.Delete(db->family(Family::Notes), slice(view(note_key(job, place)))));
  }
}

}  // namespace perennial::store
