#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

#include "cmd/perenniald/core/backlog.h"
#include "cmd/perenniald/core/core.h"

namespace perennial::core {

// What core knows of one connection.
struct Core::Connection {
  Connection(ConnId conn, uint32_t job_bytes_max, bool checkpoints, MemoryBudget& budget)
      : id(conn),
        may_checkpoint(checkpoints),
        parser(job_bytes_max),
        replies{.outbox = Outbox(budget)},
        backlog(budget),
        charge(budget, own_use()) {}

  const ConnId id;
  const bool may_checkpoint;  // Whether `checkpoint` is a command for it.
  wire::Parser parser;
  HeldReplies::Held replies;
  Backlog backlog;
  bool unanswered = false;  // A command is with the engine, or waits for a checkpoint.
  bool at_end = false;      // The client will send nothing more.
  bool quitting = false;    // quit was run: what follows it is not.
  std::optional<wire::Stranger> stranger;        // What it speaks, if that is another protocol.
  bool changed = false;                          // Listed in changed_.
  bool told_to_read = true;                      // By the last reading().
  bool runnable = false;                         // Listed in runnable_.
  std::optional<std::pair<Put, Body>> held_put;  // Waits until fewer bytes are pending.
  size_t queued_answers = 0;    // In large_answers_, those of others who share its body too.
  MemoryBudget::Charge charge;  // own_use().

  // Answers that have not left.
  size_t output_bytes() const { return replies.outbox.bytes(); }
  // The only way in to parser and held_put, so that what they hold is counted.
  wire::Step feed(std::span<const char> bytes, size_t body_room) {
    wire::Step step = parser.feed(bytes, body_room);
    charge.set(own_use());
    return step;
  }
  void hold_put(const Put& put, Body&& body) {
    held_put.emplace(put, std::move(body));
    charge.set(own_use());
  }
  std::pair<Put, Body> take_held_put() {
    auto held = *std::exchange(held_put, std::nullopt);
    charge.set(own_use());
    return held;
  }
  // Itself, its parser, and a put that waits. Backlog and outbox count themselves.
  MemoryUse own_use() const {
    const size_t put_bytes = held_put ? held_put->second.capacity() : 0;
    return {.memory = sizeof(Connection) + parser.held_bytes() + put_bytes};
  }
  // All that it holds.
  MemoryUse use() const {
    MemoryUse all = own_use();
    all += replies.outbox.use();
    all += {.memory = backlog.memory_bytes()};
    return all;
  }
  bool may_run(size_t output_limit) const {
    return !unanswered && !held_put && !quitting && queued_answers == 0 &&
           output_bytes() < output_limit;
  }
};

}  // namespace perennial::core
