#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::core {

// Bytes given away, of which the first `sent` have left before.
struct Taken {
  std::string bytes;
  size_t sent = 0;

  std::string_view view() const { return std::string_view(bytes).substr(sent); }
};

// The replies of one connection, in the order of its commands. A reply leaves when the batch that
// it is tagged with is answerable, when its body has been read, and when all replies before it have
// left.
class Outbox {
 public:
  // Adds a reply that may leave once batch `after` is answerable.
  // REQUIRES: `after` is not below that of any reply still held.
  void push(BatchIndex after, std::string_view bytes);

  // Keeps a place for a reply of about `bytes` bytes that is not known yet. Returns its number.
  uint64_t open_slot(BatchIndex after, size_t bytes);
  // REQUIRES: this slot was opened and not filled.
  void fill_slot(uint64_t slot, std::string bytes);

  // Makes ready what may leave now that batches up to `answerable` may be spoken of.
  void release(BatchIndex answerable);

  // Bytes that may leave, from the first.
  std::string_view ready() const { return std::string_view(ready_).substr(sent_); }
  // Gives them away; they count as held here until consume() says that they have left.
  Taken take_ready();
  // The first `bytes` of ready(), or of what was taken, have left.
  void consume(size_t bytes);

  // All bytes that have not left, ready or not; a slot counts from its opening.
  size_t bytes() const { return held_bytes_ + ready_.size() - sent_ + taken_bytes_; }
  // Slots that are not filled yet.
  size_t open_slots() const { return open_slots_; }
  bool empty() const { return bytes() == 0 && next_mark_ == marks_.size(); }
  // The same in memory: what strings keep in reserve counts, too.
  size_t memory_bytes() const {
    const size_t text_bytes = text_.size() - next_text_;
    return held_bytes_ - text_bytes + text_.capacity() + ready_.capacity() + taken_bytes_;
  }

 private:
  struct Mark {
    BatchIndex after;
    size_t bytes;       // In text_, or announced for a slot.
    uint64_t slot = 0;  // 0: no slot.
    bool filled = true;
    std::string slot_bytes = {};
  };
  void forget_released();

  std::string text_;  // The bytes of all marks that are no slot, one behind the other.
  size_t next_text_ = 0;
  std::vector<Mark> marks_;
  size_t next_mark_ = 0;
  uint64_t last_slot_ = 0;
  size_t open_slots_ = 0;
  size_t held_bytes_ = 0;
  std::string ready_;
  size_t sent_ = 0;
  size_t taken_bytes_ = 0;
};

}  // namespace perennial::core
