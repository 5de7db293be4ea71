#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/core/body_loans.h"
#include "cmd/perenniald/core/memory_budget.h"
#include "cmd/perenniald/core/text_queue.h"
#include "engine/types/basic.h"
#include "engine/types/body.h"

namespace perennial::core {

// The replies of one connection, in the order of its commands. A reply leaves when the batch that
// it is tagged with is answerable, when its body has been read, and when all replies before it have
// left. What it holds is counted in the budget.
class Outbox {
 public:
  Outbox() = default;
  // `budget` outlives it.
  explicit Outbox(MemoryBudget& budget) : charge_(budget) { recount(); }

  // Adds a reply that may leave once batch `after` is answerable.
  // REQUIRES: `after` is not below that of any reply still held.
  void push(BatchIndex after, std::string_view bytes);
  // The same of one that holds a body: it is copied if it is not lent.
  void push(BatchIndex after, std::string_view head, const Body& body, std::string_view tail);
  void push(BatchIndex after, std::string_view head, BodyLoans::Loan&& body, std::string_view tail);

  // Keeps a place for a reply of about `bytes` bytes that is not known yet. Returns its number.
  uint64_t open_slot(BatchIndex after, size_t bytes);
  // REQUIRES: this slot was opened and not filled.
  void fill_slot(uint64_t slot, std::string_view head, const Body& body, std::string_view tail);
  void fill_slot(uint64_t slot, std::string_view head, BodyLoans::Loan&& body,
                 std::string_view tail);

  // Makes ready what may leave now that batches up to `answerable` may be spoken of.
  void release(BatchIndex answerable);

  // Bytes that may leave, from the first; all of them, or as many as lie together. Valid until the
  // next call of anything that is not const.
  std::string_view ready() const;
  // The first `bytes` of ready() have left.
  void consume(size_t bytes);

  // All bytes that have not left, ready or not; a slot counts from its opening.
  size_t bytes() const { return held_bytes_ + ready_bytes_; }
  // Slots that are not filled yet.
  size_t open_slots() const { return open_slots_; }
  bool empty() const { return bytes() == 0 && next_mark_ == marks_.size(); }
  // Of those, what is its own: no body that is lent, and no slot that is not filled.
  size_t own_bytes() const { return bytes() - lent_bytes_ - announced_bytes_; }
  // The same in memory: what is kept in reserve counts, too.
  size_t memory_bytes() const {
    return own_bytes() - text_.size() - front_.size() + text_.capacity() + front_.capacity() +
           marks_.capacity() * sizeof(Mark) + pieces_.capacity() * sizeof(Piece);
  }
  // As it is counted in the budget.
  MemoryUse use() const { return {.memory = memory_bytes(), .answers = own_bytes()}; }

 private:
  // A body and what follows it.
  struct Piece {
    BodyLoans::Loan body;
    std::string tail;
  };
  struct Mark {
    BatchIndex after;
    size_t bytes;       // In text_, or announced for a slot, or of what fills it.
    uint64_t slot = 0;  // 0: no slot.
    bool filled = true;
    std::string head = {};  // Of a slot, and all of one whose body is no piece.
    std::optional<Piece> piece = {};
  };
  void append(BatchIndex after, std::string_view bytes);
  uint64_t add_slot(BatchIndex after, size_t bytes);
  Mark& find_slot(uint64_t slot);
  void fill(Mark& mark, size_t bytes);
  void fill(Mark& mark, std::string_view head, BodyLoans::Loan&& body, std::string_view tail);
  void add_ready(std::string_view bytes);
  void forget_released();
  void next_piece();
  // At the end of everything that can change what it holds.
  void recount() { charge_.set(use()); }

  TextQueue text_;  // The bytes of all marks that are no slot, one behind the other.
  std::vector<Mark> marks_;
  size_t next_mark_ = 0;
  uint64_t last_slot_ = 0;
  size_t open_slots_ = 0;
  size_t held_bytes_ = 0;
  size_t announced_bytes_ = 0;  // Of slots that are not filled yet.
  size_t lent_bytes_ = 0;       // Of bodies that are lent, as far as they have not left.

  // What may leave: text, and then pieces.
  TextQueue front_;
  std::vector<Piece> pieces_;
  size_t next_piece_ = 0;
  size_t sent_ = 0;  // Of the body of the first piece, once there is no text in front of it.
  size_t ready_bytes_ = 0;
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
