#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "cmd/perenniald/core/core.h"

namespace perennial::core {

// What core knows of one connection.
struct Core::Connection {
  Connection(ConnId conn, uint32_t job_bytes_max, bool checkpoints, MemoryBudget& budget)
      : id(conn), may_checkpoint(checkpoints), parser(job_bytes_max), charge(budget) {}

  const ConnId id;
  const bool may_checkpoint;  // Whether `checkpoint` is a command for it.
  wire::Parser parser;
  HeldReplies::Held replies;
  std::string backlog;      // Bytes that came while a command before them was unanswered.
  size_t backlog_at = 0;    // The first of them that has not been parsed.
  bool unanswered = false;  // A command is with the engine, or waits for a checkpoint.
  bool at_end = false;      // The client will send nothing more.
  bool quitting = false;    // quit was run: what follows it is not.
  std::optional<wire::Stranger> stranger;        // What it speaks, if that is another protocol.
  bool changed = false;                          // Listed in changed_.
  bool told_to_read = true;                      // By the last reading().
  bool runnable = false;                         // Listed in runnable_.
  std::optional<std::pair<Put, Body>> held_put;  // Waits until fewer bytes are pending.
  size_t queued_answers = 0;    // In large_answers_, those of others who share its body too.
  MemoryBudget::Charge charge;  // use(), as it was when it was last counted.

  size_t backlog_bytes() const { return backlog.size() - backlog_at; }
  void keep(std::span<const char> bytes) { backlog.append(bytes.data(), bytes.size()); }
  // The first `taken` of the backlog have been parsed. What is left is moved to the front when that
  // is little.
  void keep_rest(std::string&& of, size_t taken) {
    const bool move = taken > of.size() / 2;
    backlog = move ? of.substr(taken) : std::move(of);
    backlog_at = move ? 0 : taken;
  }
  // Answers that have not left.
  size_t output_bytes() const { return replies.outbox.bytes(); }
  // Itself, and all that waits: what has not been run, or not been sent.
  MemoryUse use() const {
    const size_t put_bytes = held_put ? held_put->second.capacity() : 0;
    return {.memory = sizeof(Connection) + parser.held_bytes() + backlog.capacity() + put_bytes +
                      replies.outbox.memory_bytes(),
            .answers = replies.outbox.own_bytes()};
  }
  bool may_run(size_t output_limit) const {
    return !unanswered && !held_put && !quitting && queued_answers == 0 &&
           output_bytes() < output_limit;
  }
};

}  // namespace perennial::core
