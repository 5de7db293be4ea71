#include "cmd/perenniald/http/api/operations.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/job_filter.h"

namespace perennial::http {
namespace {

using Action = OperationAsked::Action;

std::string_view name_of(Action action) {
  constexpr std::string_view names[] = {"delete", "kick", "move", "restore"};
  return names[static_cast<size_t>(action)];
}

// Jobs may come while a person reads the question.
uint64_t most_for(uint64_t confirmed) {
  constexpr uint64_t few = 10;
  return confirmed + std::max(few, confirmed / 10);
}

}  // namespace

// Counts the jobs, and then begins.
class Operations::Start final : public Answer {
 public:
  Start(Operations& operations, Caller caller, OperationAsked asked)
      : operations_(operations),
        caller_(std::move(caller)),
        asked_(std::move(asked)),
        counter_(operations.sources_.engine(),
                 {.tube = asked_.tube, .states = asked_.states, .match = asked_.match}) {}

  Step step() override { return counter_.step() ? Step::Whole : Step::Again; }
  Response take() override { return operations_.begin(caller_, asked_, counter_.count()); }

 private:
  Operations& operations_;
  const Caller caller_;
  const OperationAsked asked_;
  JobCounter counter_;
};

Command Operations::command_of(const OperationAsked& asked) {
  switch (asked.action) {
    case Action::Move:
      return MoveTube{
          .from = asked.tube, .to = asked.to, .states = asked.states, .match = asked.match};
    case Action::Kick:
      return KickTube{.tube = asked.tube, .states = asked.states, .match = asked.match};
    case Action::Restore: {
      RestoreTube restore = {.tube = asked.tube, .how = asked.how, .match = asked.match};
      restore.since.nanos = asked.since;
      return restore;
    }
    case Action::Delete:
      break;
  }
  FlushTube flush = {.tube = asked.tube, .match = asked.match};
  if (asked.states != StateSet::all()) flush.states = asked.states;
  return flush;
}

std::unique_ptr<Answer> Operations::start(const Caller& caller, OperationAsked asked) {
  if (asked.action == Action::Restore) return answer_now(begin(caller, asked, 0));
  return std::make_unique<Start>(*this, caller, std::move(asked));
}

Response Operations::begin(const Caller& caller, const OperationAsked& asked, uint64_t count) {
  reap();
  if (count > most_for(asked.confirmed)) {
    return problem_response(
        Status::Conflict,
        fmt::format("There are {} jobs now, and {} were confirmed.", count, asked.confirmed),
        {{"count", count}});
  }
  if (running_ >= running_max) {
    return problem_response(Status::TooManyRequests,
                            "Too many operations run. Wait for one, or cancel it.");
  }
  const uint64_t id = next_id_++;
  Operation& operation = operations_[id];
  operation.asked = asked;
  if (caller.user != nullptr) operation.user = caller.user->name;
  operation.begun = sources_.now();
  operation.client = sources_.queue().open(caller.rights, [this, id] { on_reply(id); });
  operation.client->send(command_of(asked));
  ++running_;
  return json_response(Status::Accepted, json_of(id, operation));
}

// Called by the client itself, which therefore ends later.
void Operations::on_reply(uint64_t id) {
  Operation& operation = operations_.at(id);
  if (operation.is_to_end) return;
  const auto end = [&](std::string_view state, std::string message) {
    operation.state = state;
    operation.message = std::move(message);
    operation.is_to_end = true;
    --running_;
  };
  while (const std::optional<wire::ClientReply> reply = operation.client->take()) {
    switch (reply->word) {
      case Word::Flushed:
      case Word::Moved:
      case Word::Restored:
      case Word::KickedCount:
        operation.done = reply->number;
        end("done", "");
        break;
      case Word::NotFound:  // All jobs are gone.
        end("done", "");
        break;
      default:
        operation.done = progress_of(operation).value_or(0);  // What is done stays done.
        end("failed", refused_as(*reply).text);
    }
    return;
  }
  if (operation.client->is_closed()) {
    end("failed", "The user is gone.");
  }
}

void Operations::reap() {
  for (auto& [id, operation] : operations_) {
    if (operation.is_to_end) operation.client.reset();
  }
  for (auto at = operations_.begin(); at != operations_.end() && operations_.size() > kept_max;) {
    at = at->second.client == nullptr ? operations_.erase(at) : std::next(at);
  }
}

std::optional<uint64_t> Operations::progress_of(const Operation& operation) const {
  if (operation.client == nullptr || operation.is_to_end) return std::nullopt;
  return sources_.operation_progress(operation.client->id());
}

Json Operations::json_of(uint64_t id, const Operation& operation) const {
  const OperationAsked& asked = operation.asked;
  const uint64_t done = progress_of(operation).value_or(operation.done);
  const bool is_restore = asked.action == Action::Restore;
  return {{"id", fmt::format("{}", id)},
          {"action", name_of(asked.action)},
          {"tube", asked.tube},
          {"states", names_of(asked.states)},
          {"match", http::json_of(asked.match)},
          {"to", asked.action == Action::Move ? Json(asked.to) : Json(nullptr)},
          {"user", operation.user.empty() ? Json(nullptr) : Json(operation.user)},
          {"since_seconds", asked.since == 0 ? Json(nullptr) : Json(in_seconds(asked.since))},
          {"how", is_restore ? Json(names_of(asked.how)) : Json(nullptr)},
          {"confirmed", is_restore ? Json(nullptr) : Json(asked.confirmed)},
          {"done", done},
          {"state", operation.state},
          {"message", operation.message},
          {"age_seconds", in_seconds(sources_.now() - operation.begun)}};
}

std::optional<Json> Operations::find(const Caller& caller, uint64_t id) {
  reap();
  const auto found = operations_.find(id);
  if (found == operations_.end() ||
      !caller.may_on(found->second.asked.tube, access::Verb::Manage)) {
    return std::nullopt;
  }
  return json_of(id, found->second);
}

std::optional<Json> Operations::cancel(const Caller& caller, uint64_t id) {
  if (!find(caller, id)) return std::nullopt;
  Operation& operation = operations_.at(id);
  // Otherwise the end of its client would do one more part, which nobody counts.
  if (operation.client != nullptr && !operation.is_to_end) operation.client->catch_up();
  // One that has done its work, and whose answer waits for the disk, ends as it is.
  if (const std::optional<uint64_t> done = progress_of(operation)) {
    operation.done = *done;
    operation.state = "cancelled";
    operation.client.reset();
    --running_;
  }
  return json_of(id, operation);
}

Json Operations::list(const Caller& caller) {
  reap();
  Json out = Json::array();
  for (auto at = operations_.rbegin(); at != operations_.rend(); ++at) {
    if (caller.may_on(at->second.asked.tube, access::Verb::Manage)) {
      out.push_back(json_of(at->first, at->second));
    }
  }
  return {{"operations", out}};
}

}  // namespace perennial::http
