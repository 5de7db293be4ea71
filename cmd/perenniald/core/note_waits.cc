#include "cmd/perenniald/core/note_waits.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

void NoteWaits::on_stored(const NoteStored& stored, BatchIndex batch) {
  unwritten_.push_back({batch, stored.job, stored.note});
}

void NoteWaits::on_written(BatchIndex batch) {
  while (!unwritten_.empty() && unwritten_.front().batch <= batch) unwritten_.pop_front();
}

void NoteWaits::add(NoteWaiter waiter, JobId job) {
  for (const Unwritten& unwritten : unwritten_) {
    if (unwritten.job == job) waiter.unwritten.push_back(unwritten.note);
  }
  wanted_.push_back({job, std::move(waiter)});
}

std::vector<NoteRead> NoteWaits::take_reads() {
  std::vector<NoteRead> begun;
  while (may_begin()) {
    Wanted wanted = std::move(wanted_.front());
    wanted_.pop_front();
    begun.push_back({.ticket = ++last_ticket_, .job = wanted.job});
    reads_.emplace(last_ticket_, std::move(wanted.waiter));
  }
  return begun;
}

NoteWaiter NoteWaits::end(uint64_t ticket) {
  const auto found = reads_.find(ticket);
  CHECK(found != reads_.end());
  NoteWaiter waiter = std::move(found->second);
  reads_.erase(found);
  return waiter;
}

std::vector<Note> merge_notes(std::vector<Note> read, std::vector<Note> unwritten) {
  std::ranges::move(unwritten, std::back_inserter(read));
  std::ranges::stable_sort(read, {}, &Note::number);
  const auto is_same = [](const Note& one, const Note& other) {
    return one.number == other.number;
  };
  read.erase(std::unique(read.begin(), read.end(), is_same), read.end());
  const size_t over = read.size() > notes_max ? read.size() - notes_max : 0;
  read.erase(read.begin(), read.begin() + static_cast<std::ptrdiff_t>(over));
  return read;
}

}  // namespace perennial::core
