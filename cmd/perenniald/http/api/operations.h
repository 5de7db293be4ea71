#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/command.h"
#include "engine/types/option_values.h"

namespace perennial::http {

// What is to be done with the jobs of a tube that are in some states and fit, or with those of it
// that have ended.
struct OperationAsked {
  enum class Action : uint8_t { Delete, Kick, Move, Restore };
  Action action = Action::Delete;
  std::string tube = {};
  StateSet states = {};    // Not of a restore.
  JobMatch match = {};     // Only jobs with these numbers.
  std::string to = {};     // Of a move.
  uint64_t confirmed = 0;  // How many jobs the person saw who has confirmed it. Not of a restore.
  Nanos since = 0;         // Of a restore: what ended in the last time of this length; 0: whenever.
  EndSet how = RestoreTube().how;  // Of a restore.
};

// Operations over many jobs. Each is one flush-tube, kick-tube, move-tube or restore-tube of a
// client of the queue, so it is exact: a job that is deleted was never ready in between, and none
// that was put later is touched. Its client ends to cancel it. What is done then stays done.
class Operations {
 public:
  static constexpr size_t running_max = 16;
  static constexpr size_t kept_max = 100;

  explicit Operations(ApiSources& sources) : sources_(sources) {}

  // An operation, once the jobs are counted that it would take; or why there is none. They are
  // counted in steps. Nobody can count those that have ended, so a restore begins at once.
  // REQUIRES: the caller may do command_of(asked).
  std::unique_ptr<Answer> start(const Caller& caller, OperationAsked asked);
  // What its client sends to the queue.
  static Command command_of(const OperationAsked& asked);
  // None: there is no such operation of a tube that the caller may manage.
  std::optional<Json> find(const Caller& caller, uint64_t id);
  std::optional<Json> cancel(const Caller& caller, uint64_t id);
  // The newest first.
  Json list(const Caller& caller);

 private:
  struct Operation {
    OperationAsked asked;
    std::string user;
    Nanos begun = 0;
    std::string_view state = "running";
    std::string message = {};
    uint64_t done = 0;
    std::unique_ptr<QueueClient> client = nullptr;  // Null: it has ended.
    bool is_to_end = false;                         // Its client is not needed any more.
  };

  class Start;

  // `count`: how many jobs it would take now.
  Response begin(const Caller& caller, const OperationAsked& asked, uint64_t count);
  void on_reply(uint64_t id);
  void reap();
  // None: it does nothing any more.
  std::optional<uint64_t> progress_of(const Operation& operation) const;
  Json json_of(uint64_t id, const Operation& operation) const;

  ApiSources& sources_;
  std::map<uint64_t, Operation> operations_;
  uint64_t next_id_ = 1;
  size_t running_ = 0;
};

}  // namespace perennial::http
