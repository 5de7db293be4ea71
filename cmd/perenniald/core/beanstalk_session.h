#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/core/backlog.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/core/session.h"

namespace perennial::core {

// A put or a put-batch that waits, with its bodies.
struct HeldPut {
  Command command;
  std::vector<Body> bodies;
};

// Who the client of a session is, and what follows from that. The user belongs to `users`.
struct SessionAccess {
  access::Identity identity;
  const std::string address;  // As in ClientRights.
  const bool may_send_token;
  std::shared_ptr<const access::Users> users;
  const access::User* user = nullptr;  // Null: the client has not shown who it is.
  bool may_auth = true;                // No other command has come yet.
  uint32_t wrong_tokens = 0;
  uint32_t refused_commands = 0;  // Commands that came while `user` was null.
  // The names that a listing in parts has brought so far, because the user may not see all of them.
  TubeNames listed = {};
  bool lists_all_tubes = false;  // The unanswered command is list-tubes.
};

// A session that speaks beanstalkd's protocol. It is a part of Core, which reads and sets its
// members.
class Core::BeanstalkSession final : public Session {
 public:
  BeanstalkSession(Core& core, ConnId conn, const access::ClientRights& client_rights, Nanos now)
      : id(conn),
        opened_at(now),
        may_checkpoint(client_rights.may_checkpoint),
        is_unix(client_rights.is_unix),
        is_internal(client_rights.is_internal),
        has_leases(client_rights.has_leases),
        asked_from(client_rights.is_internal
                       ? std::make_unique<const std::string>(client_rights.address)
                       : nullptr),
        parser(core.options_.job_bytes_max, core.parsed_extensions(client_rights)),
        replies{.outbox = Outbox(core.budget_)},
        backlog(core.budget_),
        core_(core),
        charge_(core.budget_, own_use()) {
    ++core_.reading_counts_[static_cast<size_t>(was_reading)];
  }
  ~BeanstalkSession() { --core_.reading_counts_[static_cast<size_t>(was_reading)]; }

  void on_bytes(std::span<const char> bytes, Nanos now, bool later) override;
  void on_half_close(Nanos now) override;
  void on_eof(Nanos now) override;
  void on_written(size_t bytes) override;
  void on_close(Nanos now) override;

  std::string_view output() const override { return replies.outbox.ready(); }
  bool reading() override;
  bool finished() const override;
  std::string_view speaks() const override;
  bool may_hear_secret() const override { return access != nullptr; }

  // Runs commands from the backlog, within one run budget.
  void run_backlog(Nanos now);
  // Holds a put that has to wait. Commands that follow it are not run meanwhile.
  void hold_put(HeldPut&& put);
  // REQUIRES: a put is held.
  HeldPut take_held_put();

  // Whether the state of this session allows its next command to run. Core::may_run() adds the
  // limits that all sessions share.
  bool may_run(size_t output_limit) const {
    return !unanswered && !held_put && !quitting && !is_cut && queued_answers == 0 &&
           output_bytes() < output_limit;
  }
  // Whether the loop has to visit the connection: to write, to start or stop reading, or to close.
  bool needs_visit() const;
  // Bytes of answers that have not left.
  size_t output_bytes() const { return replies.outbox.bytes(); }
  // All memory that the session holds, in bytes.
  MemoryUse use() const {
    MemoryUse all = own_use();
    all += replies.outbox.use();
    all += {.memory = backlog.memory_bytes()};
    return all;
  }

  const ConnId id;
  const Nanos opened_at;
  Nanos active_at = opened_at;  // When the last command began.
  uint64_t commands = 0;
  const bool may_checkpoint;  // As in ClientRights.
  const bool is_unix;
  const bool is_internal;
  const bool has_leases;
  // Of a client that is a part of the server: for whom it asks. Null for others.
  const std::unique_ptr<const std::string> asked_from;
  // Null where there are no users.
  std::unique_ptr<SessionAccess> access;
  bool is_cut = false;  // It is to be closed at once, whatever it waits for.
  wire::Parser parser;
  HeldReplies::Held replies;
  Backlog backlog;
  CommandTimes::Start command;  // The unanswered command, or the last one.
  bool unanswered = false;      // A command waits for its answer from the engine or a checkpoint.
  bool at_end = false;          // The client will send nothing more.
  bool quitting = false;        // quit was run. Later commands are not run.
  std::optional<wire::ForeignProtocol>
      foreign_protocol;                // Set if the client speaks a foreign protocol.
  bool changed = false;                // The session is listed in changed_.
  Reading was_reading = Reading::Yes;  // What reading() has said last.
  bool runnable = false;               // The session is listed in runnable_.
  std::unique_ptr<HeldPut> held_put;   // Waits until fewer bytes are pending.
  // The unanswered command is a reservation that ends when the client sends a further line.
  bool wait_may_be_aborted = false;
  // Answers of this session that wait in large_answers_, those on a shared body among them.
  size_t queued_answers = 0;

 private:
  // Runs commands from `bytes` until a command must wait or the run budget is spent. Returns the
  // number of bytes that the parser took.
  size_t run(std::span<const char> bytes, Nanos now);
  void end_run();
  // Ends a wait that may be aborted, if the backlog holds a line.
  void abort_wait(Nanos now);
  void refuse(wire::ForeignProtocol speaks);
  Reading wants_reading() const;
  void note_reading(Reading reading);
  // The session itself, its parser, and a held put. Backlog and outbox charge the budget
  // themselves.
  MemoryUse own_use() const {
    size_t put_bytes = 0;
    if (held_put) {
      for (const Body& body : held_put->bodies) put_bytes += body.capacity();
    }
    return {.memory = sizeof(BeanstalkSession) + parser.held_bytes() + put_bytes};
  }
  void recount() { charge_.set(own_use()); }

  Core& core_;
  MemoryBudget::Charge charge_;
};

}  // namespace perennial::core
