#include "cmd/perenniald/core/outbox.h"

#include <algorithm>
#include <utility>

#include "engine/types/check.h"

namespace perennial::core {
namespace {

// The capacity of marks and pieces that is kept when all of them are gone.
constexpr size_t kept_count = 64;

template <typename T>
void forget(std::vector<T>& all) {
  all.clear();
  if (all.capacity() > kept_count) all.shrink_to_fit();
}

}  // namespace

void Outbox::push(BatchIndex after, std::string_view bytes) {
  append(after, bytes);
  recount();
}

void Outbox::append(BatchIndex after, std::string_view bytes) {
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

void Outbox::push(BatchIndex after, std::string_view head, const Body& body,
                  std::string_view tail) {
  append(after, head);
  append(after, body.view());
  append(after, tail);
  recount();
}

void Outbox::push(BatchIndex after, std::string_view head, SharedBodies::SharedBody&& body,
                  std::string_view tail) {
  add_slot(after, 0);
  fill(marks_.back(), head, std::move(body), tail);
  recount();
}

uint64_t Outbox::open_slot(BatchIndex after, size_t bytes) {
  const uint64_t slot = add_slot(after, bytes);
  recount();
  return slot;
}

uint64_t Outbox::add_slot(BatchIndex after, size_t bytes) {
  CHECK(next_mark_ == marks_.size() || marks_.back().after <= after);
  held_bytes_ += bytes;
  announced_bytes_ += bytes;
  ++open_slots_;
  marks_.push_back({.after = after, .bytes = bytes, .slot = ++last_slot_, .filled = false});
  return last_slot_;
}

void Outbox::fill_slot(uint64_t slot, std::string_view head, const Body& body,
                       std::string_view tail) {
  Mark& mark = find_slot(slot);
  fill(mark, head.size() + body.size() + tail.size());
  mark.head.reserve(mark.bytes);
  mark.head.append(head).append(body.view()).append(tail);
  recount();
}

void Outbox::fill_slot(uint64_t slot, std::string_view head, SharedBodies::SharedBody&& body,
                       std::string_view tail) {
  fill(find_slot(slot), head, std::move(body), tail);
  recount();
}

Outbox::Mark& Outbox::find_slot(uint64_t slot) {
  const auto first = marks_.begin() + static_cast<std::ptrdiff_t>(next_mark_);
  const auto mark =
      std::find_if(first, marks_.end(), [slot](const Mark& m) { return m.slot == slot; });
  CHECK(mark != marks_.end() && !mark->filled);
  return *mark;
}

void Outbox::fill(Mark& mark, size_t bytes) {
  held_bytes_ += bytes - mark.bytes;
  announced_bytes_ -= mark.bytes;
  mark.bytes = bytes;
  mark.filled = true;
  --open_slots_;
}

void Outbox::fill(Mark& mark, std::string_view head, SharedBodies::SharedBody&& body,
                  std::string_view tail) {
  const size_t body_bytes = body.body().size();
  fill(mark, head.size() + body_bytes + tail.size());
  shared_bytes_ += body_bytes;
  mark.head = head;
  mark.piece = Piece{std::move(body), std::string(tail)};
}

void Outbox::release(BatchIndex committed) {
  while (next_mark_ < marks_.size()) {
    Mark& mark = marks_[next_mark_];
    if (mark.after > committed || !mark.filled) break;
    if (mark.slot != 0) {
      add_ready(std::exchange(mark.head, {}));
      if (mark.piece) pieces_.push_back(*std::exchange(mark.piece, std::nullopt));
    } else if (ready_bytes_ == 0 && mark.bytes == text_.size()) {
      front_.swap(text_);  // When all bytes leave, nothing is copied.
    } else {
      add_ready(text_.view().substr(0, mark.bytes));
      text_.consume(mark.bytes);
    }
    ready_bytes_ += mark.bytes;
    held_bytes_ -= mark.bytes;
    ++next_mark_;
  }
  forget_released();
  recount();
}

void Outbox::add_ready(std::string_view bytes) {
  if (pieces_.empty()) return front_.append(bytes);
  pieces_.back().tail.append(bytes);
}

void Outbox::forget_released() {
  // Usually all marks are released, and this costs nothing. In a long queue the released marks are
  // dropped when they are the larger half, so that memory follows what is held.
  if (next_mark_ == marks_.size()) {
    forget(marks_);
    next_mark_ = 0;
    return;
  }
  if (next_mark_ < kept_count || 2 * next_mark_ < marks_.size()) return;
  marks_.erase(marks_.begin(), marks_.begin() + static_cast<std::ptrdiff_t>(next_mark_));
  next_mark_ = 0;
}

std::string_view Outbox::ready() const {
  if (!front_.empty() || next_piece_ == pieces_.size()) return front_.view();
  return pieces_[next_piece_].body.body().view().substr(sent_);
}

void Outbox::consume(size_t bytes) {
  CHECK(bytes <= ready().size());
  ready_bytes_ -= bytes;
  if (!front_.empty() || next_piece_ == pieces_.size()) {
    front_.consume(bytes);
  } else {
    sent_ += bytes;
    shared_bytes_ -= bytes;
    if (ready().empty()) next_piece();
  }
  recount();
}

// The body of the first piece has left. The text behind it becomes the front.
void Outbox::next_piece() {
  sent_ = 0;
  front_ = TextQueue(std::move(pieces_[next_piece_].tail));
  pieces_[next_piece_].body = {};
  ++next_piece_;
  if (next_piece_ == pieces_.size()) {
    forget(pieces_);
    next_piece_ = 0;
  } else if (next_piece_ == kept_count) {
    pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(next_piece_));
    next_piece_ = 0;
  }
}

}  // namespace perennial::core
