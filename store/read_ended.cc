#include "store/read_ended.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/rocks/database.h"
#include "store/store_impl.h"
#include "store/types/rocks_status.h"

namespace perennial::store {

EndedScan::EndedScan(EndedAccess& access, std::string_view tube, const EndedSpan& span)
    : access_(access),
      tube_(tube),
      first_key_(ended_order_key(tube, span.first)),
      end_key_(ended_order_key(tube, span.next)),
      first_(slice(first_key_)),
      end_(slice(end_key_)) {
  rocksdb::ReadOptions bounded = access.how;
  bounded.fill_cache = false;
  bounded.iterate_lower_bound = &first_;
  bounded.iterate_upper_bound = &end_;
  at_.reset(access.db->NewIterator(bounded, access.db.family(Family::EndedOrder)));
}
EndedScan::~EndedScan() = default;

void EndedScan::seek(uint64_t place) {
  at_->Seek(slice(ended_order_key(tube_, place)));
  take(Way::Forward);
}
void EndedScan::seek_before(uint64_t place) {
  at_->SeekForPrev(slice(ended_order_key(tube_, place - 1)));
  take(Way::Backward);
}
void EndedScan::next() {
  at_->Next();
  take(Way::Forward);
}
void EndedScan::previous() {
  at_->Prev();
  take(Way::Backward);
}

void EndedScan::take(Way way) {
  row_.reset();
  for (; at_->Valid(); way == Way::Forward ? at_->Next() : at_->Prev()) {
    Result<EndedOrder> row = decode_ended_order(view(at_->key()), view(at_->value()));
    if (!row.ok()) continue;
    row_ = row.take();
    return;
  }
  if (at_->status().ok()) return;
  if (errors_.contains(at_->status())) access_.unread = {.family = Family::EndedOrder};
  status_ = from_rocksdb(at_->status()).with("read the order of the ended jobs of a tube");
}

// Jobs end in the order of places, where a place may be empty.
uint64_t EndedScan::first_since(Nanos since, const EndedSpan& span) {
  uint64_t low = span.first;
  uint64_t high = span.next;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    seek(middle);
    if (row_ && row_->at < since) {
      low = row_->place + 1;
    } else {
      high = middle;
    }
    if (!status_.ok()) break;
  }
  return low;
}

Result<EndedSpan> read_ended_span(const Database& db, const rocksdb::ReadOptions& how,
                                  const std::string& tube) {
  if (db.family(Family::Ended) == nullptr || !tube_name_problem(tube).empty()) return EndedSpan();
  std::string value;
  const std::string key = ended_span_key(tube);
  const auto got = db->Get(how, db.family(Family::Meta), slice(key), &value);
  if (got.IsNotFound()) return EndedSpan();
  if (!got.ok()) return from_rocksdb(got).with("read where the ended jobs of a tube are");
  const Result<EndedTube> found = decode_ended_span(key, value);
  return found.ok() ? Result<EndedSpan>(found->span) : found.status();
}

Result<std::optional<EndedJob>> read_ended_row(EndedAccess& access, JobId id) {
  if (access.db.family(Family::Ended) == nullptr) return std::optional<EndedJob>();
  rocksdb::PinnableSlice value;
  const auto key = job_key(id);
  const TableErrors errors;
  const auto got =
      access.db->Get(access.how, access.db.family(Family::Ended), slice(view(key)), &value);
  if (got.IsNotFound()) return std::optional<EndedJob>();
  if (errors.contains(got)) access.unread = {.family = Family::Ended, .first = id, .last = id};
  if (!got.ok()) return from_rocksdb(got).with(fmt::format("read the ended job {}", id));
  Result<EndedJob> row = decode_ended(view(key), view(value));
  if (!row.ok()) return row.take_status();
  return std::optional(row.take());
}

Result<std::optional<EndedOrder>> read_ended_place(EndedAccess& access, std::string_view tube,
                                                   uint64_t place) {
  if (access.db.family(Family::EndedOrder) == nullptr) return std::optional<EndedOrder>();
  rocksdb::PinnableSlice value;
  const std::string key = ended_order_key(tube, place);
  const TableErrors errors;
  const auto got =
      access.db->Get(access.how, access.db.family(Family::EndedOrder), slice(key), &value);
  if (got.IsNotFound()) return std::optional<EndedOrder>();
  if (errors.contains(got)) access.unread = {.family = Family::EndedOrder};
  if (!got.ok()) return from_rocksdb(got).with("read a place of the ended jobs of a tube");
  Result<EndedOrder> row = decode_ended_order(key, view(value));
  return row.ok() ? std::optional(row.take()) : std::optional<EndedOrder>();
}

bool is_damage(const Status& status) {
  return status.code() == StatusCode::Corruption || status.code() == StatusCode::NotFound;
}

namespace {

// Reads what belongs to ended jobs, as of the snapshot or as of now.
class EndedParts {
 public:
  EndedParts(const Store& store, EndedAccess& access, const Snapshot* snapshot)
      : store_(store), access_(access), snapshot_(snapshot) {}

  // An ended job has both of its rows. Where damage has cost one of them, the job is not there: a
  // row that is back because its deletion is lost is not shown, and nobody restores it again.
  Result<std::optional<EndedJob>> row(JobId id) const {
    Result<std::optional<EndedJob>> job = read_ended_row(access_, id);
    if (!job.ok() || !*job) return job;
    const Result<std::optional<EndedOrder>> order =
        read_ended_place(access_, (*job)->tube, (*job)->place);
    if (!order.ok()) return order.status();
    const bool is_whole = *order && (*order)->job == id;
    return is_whole ? std::move(job) : std::optional<EndedJob>();
  }
  // The same if the other row was found.
  Result<std::optional<EndedJob>> row(const EndedOrder& order) const {
    Result<std::optional<EndedJob>> job = read_ended_row(access_, order.job);
    if (!job.ok() || !*job) return job;
    const bool is_whole = (*job)->tube == order.tube && (*job)->place == order.place;
    return is_whole ? std::move(job) : std::optional<EndedJob>();
  }
  bool is_unread() const { return access_.unread.has_value(); }
  // Adds them to the job whose row was found. False: it has gone since.
  Result<bool> add(EndedFound& found, bool with_body, bool with_notes) const {
    const JobRow& row = found.job.row;
    const uint32_t had = row.fields && with_notes ? row.fields->notes : 0;
    Result<std::vector<Note>> notes =
        had > 0 ? store_.read_notes(row.id, snapshot_) : std::vector<Note>();
    if (!notes.ok() && !is_damage(notes.status())) return notes.take_status();
    if (notes.ok()) found.notes = notes.take();
    std::erase_if(found.notes, [had](const Note& note) { return !is_kept(note.number, had); });
    if (with_body) {
      Result<Body> body = store_.read_body(row.id, snapshot_);
      if (!body.ok() && !is_damage(body.status())) return body.take_status();
      if (body.ok()) found.body = body.take();
    }
    const bool is_whole =
        found.notes.size() == notes_kept(had) && (!with_body || found.body.has_value());
    if (is_whole || snapshot_ != nullptr) return true;
    // All of it goes in one batch. So where the row is there still, the rest is lost.
    const Result<std::optional<EndedJob>> again = this->row(row.id);
    if (!again.ok()) return again.status();
    return again->has_value();
  }

 private:
  const Store& store_;
  EndedAccess& access_;
  const Snapshot* const snapshot_;
};

// Fills a page with the jobs of a tube, one after the other.
class EndedPageReader {
 public:
  EndedPageReader(const EndedParts& parts, const EndedQuery& query)
      : parts_(parts), query_(query) {}

  Result<EndedPage> read(EndedScan& scan, const EndedSpan& span) {
    begin(scan, span);
    for (; scan.row() && !is_over(*scan.row());
         query_.newest_first ? scan.previous() : scan.next()) {
      const EndedOrder& order = *scan.row();
      const Result<bool> is_taken = take(order);
      if (!is_taken.ok()) return is_taken.status();
      if (!*is_taken) return std::move(page_);
      page_.next_place = query_.newest_first ? order.place : order.place + 1;
    }
    if (!scan.status().ok()) return scan.status();
    page_.is_end = true;
    return std::move(page_);
  }

 private:
  void begin(EndedScan& scan, const EndedSpan& span) {
    if (query_.newest_first) {
      page_.next_place = query_.from == 0 ? span.next : std::min(query_.from, span.next);
      return scan.seek_before(page_.next_place);
    }
    page_.next_place = std::max(query_.from, span.first);
    if (query_.since > 0) {
      page_.next_place = std::max(page_.next_place, scan.first_since(query_.since, span));
    }
    scan.seek(page_.next_place);
  }
  bool is_over(const EndedOrder& order) const {
    return query_.newest_first && order.at < query_.since;
  }
  // False: the page is full. A row that is missing or damaged is passed over.
  Result<bool> take(const EndedOrder& order) {
    if (page_.jobs.size() >= query_.jobs_max) return false;
    Result<std::optional<EndedJob>> row = parts_.row(order);
    const bool must_stop = !row.ok() && (parts_.is_unread() || !is_damage(row.status()));
    if (must_stop) return row.take_status();
    if (!row.ok() || !*row) return true;
    const uint64_t bytes = query_.with_bodies ? (*row)->row.body_bytes : 0;
    if (!page_.jobs.empty() && bytes_ + bytes > query_.bytes_max) return false;
    EndedFound found = {.job = std::move(**row)};
    const Result<bool> is_there = parts_.add(found, query_.with_bodies, query_.with_notes);
    if (!is_there.ok()) return is_there.status();
    if (!*is_there) return true;
    bytes_ += bytes;
    page_.jobs.push_back(std::move(found));
    return true;
  }

  const EndedParts& parts_;
  const EndedQuery& query_;
  EndedPage page_;
  uint64_t bytes_ = 0;
};

Result<std::optional<EndedFound>> find_ended(const Store& store, EndedAccess& access, JobId id,
                                             bool with_body, const Snapshot* snapshot) {
  const EndedParts parts(store, access, snapshot);
  Result<std::optional<EndedJob>> row = parts.row(id);
  const bool must_stop = !row.ok() && (parts.is_unread() || !is_damage(row.status()));
  if (must_stop) return row.take_status();
  if (!row.ok() || !*row) return std::optional<EndedFound>();
  EndedFound found = {.job = std::move(**row)};
  const Result<bool> is_there = parts.add(found, with_body, true);
  if (!is_there.ok()) return is_there.status();
  return *is_there ? std::optional(std::move(found)) : std::nullopt;
}

Result<EndedPage> find_page(const Store& store, EndedAccess& access, const EndedQuery& query,
                            const Snapshot* snapshot) {
  const Result<EndedSpan> span = read_ended_span(access.db, access.how, query.tube);
  if (!span.ok()) return span.status();
  if (span->empty()) return EndedPage{.next_place = query.from, .is_end = true};
  const EndedParts parts(store, access, snapshot);
  EndedScan scan(access, query.tube, *span);
  return EndedPageReader(parts, query).read(scan, *span);
}

Result<std::vector<EndedOrder>> find_order(EndedAccess& access, const std::string& tube,
                                           uint64_t first, size_t max) {
  std::vector<EndedOrder> out;
  const Result<EndedSpan> span = read_ended_span(access.db, access.how, tube);
  if (!span.ok()) return span.status();
  if (span->empty()) return out;
  EndedScan scan(access, tube, *span);
  for (scan.seek(first); scan.row() && out.size() < max; scan.next()) out.push_back(*scan.row());
  if (!scan.status().ok()) return scan.status();
  return out;
}

}  // namespace

Result<std::optional<EndedFound>> Store::read_ended(JobId id, bool with_body,
                                                    const Snapshot* snapshot) const {
  return impl_->read_ended(snapshot == nullptr ? nullptr : snapshot->at_, [&](EndedAccess& access) {
    return find_ended(*this, access, id, with_body, snapshot);
  });
}

Result<EndedPage> Store::read_ended(const EndedQuery& query, const Snapshot* snapshot) const {
  CHECK(query.jobs_max > 0);
  return impl_->read_ended(snapshot == nullptr ? nullptr : snapshot->at_, [&](EndedAccess& access) {
    return find_page(*this, access, query, snapshot);
  });
}

Result<std::vector<EndedOrder>> Store::read_ended_order(const std::string& tube, uint64_t first,
                                                        size_t max) const {
  return impl_->read_ended(
      nullptr, [&](EndedAccess& access) { return find_order(access, tube, first, max); });
}

}  // namespace perennial::store
