#include "cmd/perenniald/core/note_waits.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

void NoteWaits::on_stored(const NoteStored& stored, BatchIndex batch) {
  std::vector<Unwritten>& notes = unwritten_[stored.job];
  if (notes.size() == notes_max) notes.erase(notes.begin());
  notes.push_back({batch, stored.note});
  stored_.emplace_back(batch, stored.job);
}

void NoteWaits::on_written(BatchIndex batch) {
  for (; !stored_.empty() && stored_.front().first <= batch; stored_.pop_front()) {
    const auto found = unwritten_.find(stored_.front().second);
    if (found == unwritten_.end()) continue;
    std::erase_if(found->second, [&](const Unwritten& one) { return one.batch <= batch; });
    if (found->second.empty()) unwritten_.erase(found);
  }
}

void NoteWaits::add(NoteWaiter waiter, JobId job) {
  if (const auto found = unwritten_.find(job); found != unwritten_.end()) {
    for (const Unwritten& one : found->second) waiter.unwritten.push_back(one.note);
  }
  wanted_.push_back({.ticket = ++last_ticket_, .job = job});
  waiters_.emplace(last_ticket_, std::move(waiter));
}

NoteWaiter NoteWaits::end(uint64_t ticket) {
  const auto found = waiters_.find(ticket);
  CHECK(found != waiters_.end());
  NoteWaiter waiter = std::move(found->second);
  waiters_.erase(found);
  return waiter;
}

std::vector<Note> merge_notes(std::vector<Note> read, std::vector<Note> unwritten, uint32_t had) {
  std::ranges::move(unwritten, std::back_inserter(read));
  const uint32_t gone = had - notes_kept(had);  // Notes up to this number are not kept any more.
  std::erase_if(read, [&](const Note& note) { return note.number <= gone || note.number > had; });
  std::ranges::stable_sort(read, {}, &Note::number);
  const auto is_same = [](const Note& one, const Note& other) {
    return one.number == other.number;
  };
  read.erase(std::unique(read.begin(), read.end(), is_same), read.end());
  return read;
}

}  // namespace perennial::core
