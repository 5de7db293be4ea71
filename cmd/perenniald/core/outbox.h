#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/shared_bodies.h"
#include "cmd/perenniald/core/text_queue.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"

namespace perennial::core {

// The replies of one connection, in the order of its commands. A reply leaves when the batch that
// it is tagged with is committed, when its body has been read, and when all replies before it have
// left. The budget counts what the outbox holds.
//
// Text replies lie one behind the other in one buffer, with a mark for each batch, so that a write
// takes all of them at once. A string for each reply would be simpler, but pipelined commands would
// then cost an allocation and a write each.
class Outbox {
 public:
  Outbox() = default;
  // `budget` outlives this.
  explicit Outbox(MemoryBudget& budget) : charge_(budget) { recount(); }

  // Adds a reply that may leave once batch `after` is committed.
  // REQUIRES: `after` is not below that of any reply still held.
  void push(BatchIndex after, std::string_view bytes);
  // Adds a reply that holds a body: a Body is copied, and a SharedBody is not.
  void push(BatchIndex after, std::string_view head, const Body& body, std::string_view tail);
  void push(BatchIndex after, std::string_view head, SharedBodies::SharedBody&& body,
            std::string_view tail);

  // Adds a slot for a reply of about `bytes` bytes whose body is still being read. Returns its
  // number.
  uint64_t open_slot(BatchIndex after, size_t bytes);
  // REQUIRES: the slot was opened and is not filled.
  void fill_slot(uint64_t slot, std::string_view head, const Body& body, std::string_view tail);
  void fill_slot(uint64_t slot, std::string_view head, SharedBodies::SharedBody&& body,
                 std::string_view tail);

  // Makes ready the replies that wait for batches up to `committed`.
  void release(BatchIndex committed);

  // Bytes that may leave now, from the first one: all of them, or as many as are contiguous. Valid
  // until the next call of a non-const function.
  std::string_view ready() const;
  // The first `bytes` of ready() have left.
  void consume(size_t bytes);

  // All bytes that have not left, ready or not. A slot counts from the time it is opened.
  size_t bytes() const { return held_bytes_ + ready_bytes_; }
  // The number of slots that are not filled yet.
  size_t open_slots() const { return open_slots_; }
  bool empty() const { return bytes() == 0 && next_mark_ == marks_.size(); }
  // The bytes that only this outbox holds: without shared bodies, and without slots that are not
  // filled.
  size_t own_bytes() const { return bytes() - shared_bytes_ - announced_bytes_; }
  // The same in allocated memory, unused capacity included.
  size_t memory_bytes() const {
    return own_bytes() - text_.size() - front_.size() + text_.capacity() + front_.capacity() +
           marks_.capacity() * sizeof(Mark) + pieces_.capacity() * sizeof(Piece);
  }
  // What the budget counts.
  MemoryUse use() const { return {.memory = memory_bytes(), .answers = own_bytes()}; }

 private:
  // A shared body, and the bytes that follow it.
  struct Piece {
    SharedBodies::SharedBody body;
    std::string tail;
  };
  struct Mark {
    BatchIndex after;
    size_t bytes;       // Bytes in text_; of a slot, its estimate, or what fills it.
    uint64_t slot = 0;  // 0: it is no slot.
    bool filled = true;
    std::string head = {};  // The head of a slot, or its whole text if it has no piece.
    std::optional<Piece> piece = {};
  };
  void append(BatchIndex after, std::string_view bytes);
  uint64_t add_slot(BatchIndex after, size_t bytes);
  Mark& find_slot(uint64_t slot);
  void fill(Mark& mark, size_t bytes);
  void fill(Mark& mark, std::string_view head, SharedBodies::SharedBody&& body,
            std::string_view tail);
  void add_ready(std::string_view bytes);
  void forget_released();
  void next_piece();
  // Called at the end of each function that can change what the outbox holds.
  void recount() { charge_.set(use()); }

  TextQueue text_;  // The bytes of all marks that are no slots, in order.
  std::vector<Mark> marks_;
  size_t next_mark_ = 0;
  uint64_t last_slot_ = 0;
  size_t open_slots_ = 0;
  size_t held_bytes_ = 0;
  size_t announced_bytes_ = 0;  // Of slots that are not filled yet.
  size_t shared_bytes_ = 0;     // Of shared bodies, without the bytes that have left.

  // Ready bytes: text, and then pieces.
  TextQueue front_;
  std::vector<Piece> pieces_;
  size_t next_piece_ = 0;
  size_t sent_ = 0;  // Bytes of the first piece's body that have left. front_ is empty then.
  size_t ready_bytes_ = 0;
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
