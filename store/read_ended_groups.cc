// Jobs that have ended, of all tubes, the newest first: the newest job of each tube is known, and
// of these the newest is taken again and again.

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/types/check.h"
#include "store/read_ended.h"
#include "store/rocks/database.h"
#include "store/store_impl.h"

namespace perennial::store {
namespace {

// The scans of tubes that were read last: jobs often end in several tubes by turns, and a new scan
// for each of them would cost more than to read it.
class TubeScans {
 public:
  // Both outlive this.
  TubeScans(EndedAccess& access, const std::vector<KeptOfTube>& tubes)
      : access_(access), tubes_(tubes) {}

  // It stays until the next call.
  EndedScan& of(size_t tube) {
    const auto found = scans_.find(tube);
    if (found != scans_.end()) return *found->second;
    if (scans_.size() == scans_max) scans_.clear();
    const KeptOfTube& kept = tubes_[tube];
    auto scan = std::make_unique<EndedScan>(access_, kept.tube, kept.span);
    return *scans_.emplace(tube, std::move(scan)).first->second;
  }

 private:
  static constexpr size_t scans_max = 64;

  EndedAccess& access_;
  const std::vector<KeptOfTube>& tubes_;
  absl::flat_hash_map<size_t, std::unique_ptr<EndedScan>> scans_;
};

class EndedGroupsReader {
 public:
  EndedGroupsReader(EndedAccess& access, const EndedGroupsQuery& query)
      : access_(access), query_(query), scans_(access, query.tubes), grouping_(query) {}

  Result<EndedGroupsPage> read() {
    for (size_t tube = 0; tube < query_.tubes.size(); ++tube) {
      if (Status found = find_newest(tube); !found.ok()) return found;
    }
    while (!newest_.empty()) {
      std::ranges::pop_heap(newest_, is_older);
      const Newest next = newest_.back();
      newest_.pop_back();
      const Result<bool> is_taken = take_from(next);
      if (!is_taken.ok()) return is_taken.status();
      if (!*is_taken) return grouping_.finish(false);
    }
    return grouping_.finish(true);
  }

 private:
  // The newest job of a tube that was not taken.
  struct Newest {
    Nanos at;
    size_t tube;  // In the query.
    uint64_t place;
  };
  // For a heap. Of two that ended at the same time the one of the first tube comes first.
  static bool is_older(const Newest& one, const Newest& other) {
    return one.at != other.at ? one.at < other.at : one.tube > other.tube;
  }

  Status find_newest(size_t tube) {
    const KeptOfTube& kept = query_.tubes[tube];
    if (kept.span.empty()) return {};
    EndedScan& scan = scans_.of(tube);
    scan.seek_before(kept.span.next);
    if (query_.after && scan.row()) seek_behind(*query_.after, kept, scan);
    if (!scan.status().ok()) return scan.status();
    if (scan.row() && scan.row()->at >= kept.since) add(tube, *scan.row());
    return {};
  }
  // To the newest job that comes after the position. What is newer was on an earlier page.
  static void seek_behind(const EndedPosition& after, const KeptOfTube& kept, EndedScan& scan) {
    if (kept.tube == after.tube) {
      if (scan.row()->place >= after.place) scan.seek_before(after.place);
      return;
    }
    const Nanos end = kept.tube < after.tube ? after.at : after.at + 1;
    if (scan.row()->at >= end) scan.seek_before(scan.first_since(end, kept.span));
  }
  void add(size_t tube, const EndedOrder& row) {
    newest_.push_back({.at = row.at, .tube = tube, .place = row.place});
    std::ranges::push_heap(newest_, is_older);
  }

  // Takes jobs of this tube for as long as they are the newest of all. False: the page is full.
  Result<bool> take_from(const Newest& next) {
    const KeptOfTube& kept = query_.tubes[next.tube];
    EndedScan& scan = scans_.of(next.tube);
    if (!scan.row() || scan.row()->place != next.place) scan.seek_before(next.place + 1);
    for (; scan.row() && scan.row()->at >= kept.since; scan.previous()) {
      const EndedOrder& row = *scan.row();
      const Newest now = {.at = row.at, .tube = next.tube, .place = row.place};
      if (!newest_.empty() && is_older(now, newest_.front())) {
        add(next.tube, row);
        return true;
      }
      const Result<std::optional<EndedJob>> job = read_ended_row(access_, row.job);
      const bool must_stop = !job.ok() && (access_.unread || !is_damage(job.status()));
      if (must_stop) return job.status();
      // After damage a row of the order may be back, whose job is in another place by now.
      const bool is_whole =
          job.ok() && *job && (*job)->tube == row.tube && (*job)->place == row.place;
      const EndedJob* const found = is_whole ? &**job : nullptr;
      if (!grouping_.take({.at = row.at, .tube = row.tube, .place = row.place}, found)) {
        return false;
      }
    }
    if (!scan.status().ok()) return scan.status();
    return true;
  }

  EndedAccess& access_;
  const EndedGroupsQuery& query_;
  TubeScans scans_;
  EndedGrouping grouping_;
  std::vector<Newest> newest_;  // A heap, with one for each tube that has more.
};

}  // namespace

Result<EndedGroupsPage> Store::read_ended_groups(const EndedGroupsQuery& query) const {
  CHECK(query.groups_max > 0);
  CHECK(query.jobs_max > 0);
  return impl_->read_ended(nullptr, [&](EndedAccess& access) -> Result<EndedGroupsPage> {
    if (access.db.family(Family::EndedOrder) == nullptr) return EndedGroupsPage();
    return EndedGroupsReader(access, query).read();
  });
}

}  // namespace perennial::store
