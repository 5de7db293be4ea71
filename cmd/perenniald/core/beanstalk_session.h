#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cmd/perenniald/core/backlog.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/core/session.h"

namespace perennial::core {

// A session that speaks beanstalkd's protocol. Core's own: its members are core's to read and set.
class Core::BeanstalkSession final : public Session {
 public:
  BeanstalkSession(Core& core, ConnId conn, bool checkpoints)
      : id(conn),
        may_checkpoint(checkpoints),
        parser(core.options_.job_bytes_max),
        replies{.outbox = Outbox(core.budget_)},
        backlog(core.budget_),
        core_(core),
        charge_(core.budget_, own_use()) {}

  void on_bytes(std::span<const char> bytes, Nanos now, bool later) override;
  void on_half_close(Nanos now) override;
  void on_eof(Nanos now) override;
  void on_written(size_t bytes) override;
  void on_close(Nanos now) override;

  std::string_view output() const override { return replies.outbox.ready(); }
  bool reading() override;
  bool finished() const override;
  std::string_view speaks() const override;

  // Runs what has been kept, or a part of it.
  void run_backlog(Nanos now);
  // A put that has to wait, and nothing behind it is run.
  void hold_put(const Put& put, Body&& body);
  // REQUIRES: there is one.
  std::pair<Put, Body> take_held_put();

  // Whether nothing of its own keeps its next command waiting.
  bool may_run(size_t output_limit) const {
    return !unanswered && !held_put && !quitting && queued_answers == 0 &&
           output_bytes() < output_limit;
  }
  // Whether there is something to be done with it.
  bool has_news() const;
  // Answers that have not left.
  size_t output_bytes() const { return replies.outbox.bytes(); }
  // All that it holds.
  MemoryUse use() const {
    MemoryUse all = own_use();
    all += replies.outbox.use();
    all += {.memory = backlog.memory_bytes()};
    return all;
  }

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
  size_t queued_answers = 0;  // In large_answers_, those of others who share its body too.

 private:
  // Runs commands from `bytes` until one must wait or enough is spent. Returns how many bytes it
  // took.
  size_t run(std::span<const char> bytes, Nanos now);
  void end_run();
  void refuse(wire::Stranger speaks);
  bool wants_reading() const;
  // Itself, its parser, and a put that waits. Backlog and outbox count themselves.
  MemoryUse own_use() const {
    const size_t put_bytes = held_put ? held_put->second.capacity() : 0;
    return {.memory = sizeof(BeanstalkSession) + parser.held_bytes() + put_bytes};
  }
  void recount() { charge_.set(own_use()); }

  Core& core_;
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
