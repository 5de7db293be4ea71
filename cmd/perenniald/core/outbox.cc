#include "cmd/perenniald/core/outbox.h"

#include <utility>

#include "engine/types/check.h"

namespace perennial::core {
namespace {

// A large answer's room is not kept for ever.
void forget(std::string& bytes) {
  constexpr size_t kept_bytes = 64 << 10;
  bytes.clear();
  if (bytes.capacity() > kept_bytes) bytes.shrink_to_fit();
}

}  // namespace

void Outbox::push(BatchIndex after, std::string_view bytes) {
  held_bytes_ += bytes.size();
  text_.append(bytes);
  if (next_mark_ < marks_.size()) {
    Mark& last = marks_.back();
    CHECK(last.after <= after);
    if (last.after == after && last.slot == 0) {
      last.bytes += bytes.size();
      return;
    }
  }
  marks_.push_back({.after = after, .bytes = bytes.size()});
}

uint64_t Outbox::open_slot(BatchIndex after, size_t bytes) {
  CHECK(next_mark_ == marks_.size() || marks_.back().after <= after);
  held_bytes_ += bytes;
  ++open_slots_;
  marks_.push_back({.after = after, .bytes = bytes, .slot = ++last_slot_, .filled = false});
  return last_slot_;
}

void Outbox::fill_slot(uint64_t slot, std::string bytes) {
  for (size_t i = next_mark_; i < marks_.size(); ++i) {
    Mark& mark = marks_[i];
    if (mark.slot != slot) continue;
    CHECK(!mark.filled);
    held_bytes_ += bytes.size() - mark.bytes;
    mark.bytes = bytes.size();
    mark.slot_bytes = std::move(bytes);
    mark.filled = true;
    --open_slots_;
    return;
  }
  CHECK(!"a slot that was opened");
}

void Outbox::release(BatchIndex answerable) {
  while (next_mark_ < marks_.size()) {
    Mark& mark = marks_[next_mark_];
    if (mark.after > answerable || !mark.filled) break;
    if (mark.slot != 0 && ready_.empty()) {
      ready_ = std::move(mark.slot_bytes);  // A great body is not copied.
    } else if (mark.slot != 0) {
      ready_.append(mark.slot_bytes);
    } else if (ready_.empty() && mark.bytes == text_.size()) {
      ready_.swap(text_);  // Nor is anything when all of it leaves.
    } else {
      ready_.append(text_, next_text_, mark.bytes);
      next_text_ += mark.bytes;
    }
    held_bytes_ -= mark.bytes;
    ++next_mark_;
  }
  forget_released();
}

void Outbox::forget_released() {
  // Usually everything has been released, and this costs nothing. Behind a long backlog the front
  // is cut off when it is the larger half, so that the memory follows what is held.
  if (next_mark_ == marks_.size()) {
    marks_.clear();
    next_mark_ = 0;
    forget(text_);
    next_text_ = 0;
    return;
  }
  if (next_mark_ < 64 || 2 * next_mark_ < marks_.size()) return;
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(next_mark_));
  next_mark_ = 0;
  text_.erase(0, next_text_);
  next_text_ = 0;
}

Taken Outbox::take_ready() {
  Taken taken{std::exchange(ready_, {}), std::exchange(sent_, 0)};
  taken_bytes_ += taken.view().size();
  return taken;
}

void Outbox::consume(size_t bytes) {
  if (taken_bytes_ > 0) {
    CHECK(bytes <= taken_bytes_);
    taken_bytes_ -= bytes;
    return;
  }
  CHECK(bytes <= ready_.size() - sent_);
  sent_ += bytes;
  if (sent_ < ready_.size()) return;
  sent_ = 0;
  forget(ready_);
}

}  // namespace perennial::core
