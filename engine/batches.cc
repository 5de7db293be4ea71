// The commands about several jobs at once: put-batch, delete-batch, touch-batch. reserve-batch is
// in reserve.cc. Each is its single commands, in order, in one input: so it is in one batch on
// disk, whole or not at all.

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "engine/state.h"

namespace perennial::engine {

void State::run(Conn& conn, const PutBatch& batch) {
  make_producer(conn);
  if (draining_) return refuse_put(conn, PutRefusal::Draining);
  // Without items: there was no memory for them.
  if (batch.items.empty()) return refuse_put(conn, PutRefusal::Space);
  const auto has_key = [](const Put& item) { return item.options && item.options->key; };
  const auto keys = static_cast<size_t>(std::ranges::count_if(batch.items, has_key));
  std::vector<Tube*> tubes;
  std::optional<PutRefusal> refusal;
  for (const Put& item : batch.items) {
    const std::string& name = put_tube(conn, batch.tube, item);
    refusal = put_refusal(name, batch.items.size(), keys);
    if (refusal) break;
    tubes.push_back(find_or_make_tube(name));
    if (tubes.back() != nullptr) continue;
    tubes.pop_back();
    refusal = PutRefusal::Tubes;
    break;
  }
  if (refusal) {
    refuse_put(conn, *refusal);
  } else {
    put_items(conn, batch, tubes);
  }
  // A tube may have been made for a batch that is refused, or for a duplicate. The order in which
  // tubes end is visible, so it is that of their numbers and not of their addresses.
  std::set<TubeId> ids;
  for (const Tube* const tube : tubes) ids.insert(tube->id);
  for (const TubeId id : ids) end_if_unused(tube_of(id));
}

void State::put_items(Conn& conn, const PutBatch& batch, std::span<Tube* const> tubes) {
  auto inserted = std::make_unique<BatchInserted>();
  for (size_t i = 0; i < tubes.size(); ++i) {
    const Put& item = batch.items[i];
    if (const auto duplicate = find_duplicate(tubes[i]->name, item)) {
      inserted->items.push_back(
          {.id = duplicate->id, .is_duplicate = true, .state = duplicate->state});
    } else {
      inserted->items.push_back({.id = add_job(*tubes[i], item)});
    }
  }
  answer(conn, std::move(inserted));
  for (Tube* const tube : tubes) hand_out(*tube);
}

void State::run(Conn& conn, const PutBatchRefused& batch) {
  switch (batch.why) {
    case PutBatchRefused::Why::BadFormat:
      return answer(conn, Word::BadFormat);
    case PutBatchRefused::Why::JobTooBig:
      return refuse_put(conn, PutRefusal::Size);
    case PutBatchRefused::Why::ExpectedCrlf:
      return refuse_put(conn, PutRefusal::Crlf);
  }
}

void State::run(Conn& conn, const DeleteBatch& batch) {
  auto done = std::make_unique<BatchDone>(BatchDone{.word = Word::DeletedBatch});
  const absl::flat_hash_set<JobId> hidden(batch.hidden.begin(), batch.hidden.end());
  for (const JobId id : batch.ids) {
    if (!hidden.contains(id) && remove_for(conn, id)) {
      ++done->done;
    } else {
      done->missing.push_back(id);
    }
  }
  answer(conn, std::move(done));
}

void State::run(Conn& conn, const TouchBatch& batch) {
  auto done = std::make_unique<BatchDone>(BatchDone{.word = Word::TouchedBatch});
  // An id that is there twice is missing the second time, as in delete-batch.
  absl::flat_hash_set<JobId> seen;
  for (const JobId id : batch.ids) {
    if (seen.insert(id).second && touch(conn, id, batch.ttr.nanos)) {
      ++done->done;
    } else {
      done->missing.push_back(id);
    }
  }
  answer(conn, std::move(done));
}

void State::run(Conn& conn, const Drain& /*drain*/) {
  draining_ = true;
  answer(conn, Word::Draining);
}

void State::run(Conn& conn, const Undrain& /*undrain*/) {
  draining_ = false;
  answer(conn, Word::NotDraining);
}

}  // namespace perennial::engine
