#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "cmd/perenniald/core/core.h"

namespace perennial::core {

// What core knows of one connection.
struct Core::Connection {
  Connection(ConnId conn, uint32_t job_bytes_max, bool checkpoints)
      : id(conn), may_checkpoint(checkpoints), parser(job_bytes_max) {}

  const ConnId id;
  const bool may_checkpoint;  // Whether `checkpoint` is a command for it.
  wire::Parser parser;
  Outbox outbox;
  std::string backlog;      // Bytes that came while a command before them was unanswered.
  size_t backlog_at = 0;    // The first of them that has not been parsed.
  bool unanswered = false;  // A command is with the engine, or waits for a checkpoint.
  bool at_end = false;      // The client will send nothing more.
  bool quitting = false;    // quit was run: what follows it is not.
  std::optional<wire::Stranger> stranger;  // What it speaks, if that is another protocol.
  bool changed = false;                    // Listed in changed_.
  BatchIndex listed_for = 0;               // The newest batch in holders_ under which it is listed.
  std::optional<std::pair<Put, Body>> held_put;  // Waits until fewer bytes are pending.

  size_t backlog_bytes() const { return backlog.size() - backlog_at; }
  bool may_run(size_t output_bytes_max) const {
    return !unanswered && !held_put && !quitting && outbox.bytes() < output_bytes_max;
  }
};

}  // namespace perennial::core
