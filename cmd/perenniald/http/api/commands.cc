#include "cmd/perenniald/http/api/commands.h"

#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/access/rules.h"
#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {
namespace {

// A client of this server holds no jobs, so that the verb of a worker never suffices where there is
// another one.
Response forbidden(const QueueCommand& asked) {
  const Command& command = asked.command;
  const std::string_view word = access::word_of(command);
  access::Verb missing = access::Verb::Produce;
  for (const access::CommandRule& rule : access::command_rules()) {
    if (rule.word != word) continue;
    for (const access::VerbRow& row : access::verb_rows) {
      if (rule.verbs.holds(row.verb)) missing = row.verb;
      if (rule.verbs.holds(row.verb) && row.verb != access::Verb::Consume) break;
    }
  }
  const std::string subject =
      asked.forbidden_tube.empty() ? access::subject_of(command) : asked.forbidden_tube;
  return problem_response(Status::Forbidden, forbidden_text(missing, subject));
}

class CommandAnswer final : public Answer {
 public:
  CommandAnswer(QueueClients& queue, const Caller& caller, std::vector<QueueCommand> commands,
                OfReplies finish)
      : queue_(queue),
        rights_(caller.rights),
        commands_(std::move(commands)),
        expected_(commands_.size()),
        finish_(std::move(finish)) {}

  Step step() override {
    if (client_ == nullptr) {
      client_ = queue_.open(rights_, [this] { wake(); });
      for (const QueueCommand& each : commands_) client_->send(each.command, each.body);
    }
    // After a put that is BAD_FORMAT there is an answer to its body, too, which nobody has asked.
    while (replies_.size() < expected_) {
      std::optional<wire::ClientReply> reply = client_->take();
      if (!reply) break;
      if (reply->is(Word::InsertedBatch)) {
        expected_ += std::reduce(reply->numbers.begin(), reply->numbers.end());
      }
      replies_.push_back(*std::move(reply));
    }
    return replies_.size() == expected_ || client_->is_closed() ? Step::Whole : Step::Waits;
  }
  Response take() override {
    const bool is_whole = replies_.size() == expected_;
    client_.reset();
    if (!is_whole) {
      return problem_response(Status::ServiceUnavailable,
                              "The server has ended the request: its user is gone.");
    }
    if (replies_.front().is(Word::Forbidden)) return forbidden(commands_.front());
    return finish_(std::move(replies_));
  }

 private:
  QueueClients& queue_;
  const access::ClientRights rights_;
  const std::vector<QueueCommand> commands_;
  size_t expected_;  // Replies.
  const OfReplies finish_;
  std::unique_ptr<QueueClient> client_;
  QueueReplies replies_;
};

struct ReachedLimit {
  std::string_view name;  // The setting.
  std::string text;
};

// None: no limit is reached that this can see. Those of keys and of tubes count last, because a put
// without a key, or into a tube that is there, does not meet them.
std::optional<ReachedLimit> reached_limit(MetricSources& sources, uint64_t jobs) {
  const ServerLimits limits = sources.limits();
  const EngineStats stats = sources.engine().statistics();
  const StateCounts& counts = stats.jobs;
  const uint64_t all = counts.ready + counts.reserved + counts.delayed + counts.buried;
  if (!sources.accepts_puts()) {
    return ReachedLimit{"low_water_bytes",
                        "The disk is nearly full, so that no jobs are taken. Delete jobs, or give "
                        "it space; the server goes on by itself."};
  }
  if (limits.jobs_max > 0 && all + jobs > limits.jobs_max) {
    return ReachedLimit{"jobs_max", fmt::format("There are {} jobs, and jobs_max is {}. Try again "
                                                "when workers have done some, or raise it.",
                                                all, limits.jobs_max)};
  }
  if (limits.memory_bytes_max > 0 && sources.memory_bytes() >= limits.memory_bytes_max) {
    return ReachedLimit{"memory_bytes_max",
                        fmt::format("Jobs and connections take memory_bytes_max, {} bytes. Try "
                                    "again when workers have done some, or raise it.",
                                    limits.memory_bytes_max)};
  }
  if (limits.keys_max > 0 && stats.keys >= limits.keys_max) {
    return ReachedLimit{"keys_max", fmt::format("{} keys are held, and keys_max is {}. Try again "
                                                "when jobs with keys are done, or raise it.",
                                                stats.keys, limits.keys_max)};
  }
  if (limits.tubes_max > 0 && stats.tubes >= limits.tubes_max) {
    return ReachedLimit{"tubes_max", fmt::format("There are {} tubes, and tubes_max is {}: a new "
                                                 "one cannot be made. Use another, or raise it.",
                                                 stats.tubes, limits.tubes_max)};
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Answer> make_command_answer(QueueClients& queue, const Caller& caller,
                                            std::vector<QueueCommand> commands, OfReplies finish) {
  return std::make_unique<CommandAnswer>(queue, caller, std::move(commands), std::move(finish));
}

RefusedAs refused_as(const wire::ClientReply& reply) {
  switch (reply.word) {
    case Word::NotFound:
      return {Status::NotFound,
              "There is no such job or tube, or it is in a state that does not "
              "allow this: a worker may hold it."};
    case Word::Forbidden:
      return {Status::Forbidden, "No grant of the user allows this."};
    case Word::Denied:
      return {Status::Forbidden, "Commands of operators are not accepted here: admin_on."};
    case Word::Unauthorized:
      return {Status::Unauthorized, "Sign in first."};
    case Word::Draining:
      return {Status::ServiceUnavailable,
              "The server or the tube takes no jobs now: it is draining."};
    case Word::OutOfMemory:
      return {
          Status::ServiceUnavailable,
          "There is no space for this: the disk is nearly full, or a limit of jobs, keys, tubes, "
          "schedules or memory is reached."};
    case Word::JobTooBig:
      return {Status::ContentTooLarge, "The job is larger than job_bytes_max."};
    case Word::BadFormat:
      return {Status::BadRequest, "A value is out of its range."};
    default:
      return {Status::ServiceUnavailable,
              fmt::format("The queue has answered {}.", wire::describe(reply))};
  }
}

Response refusal_of(const wire::ClientReply& reply) {
  const RefusedAs refusal = refused_as(reply);
  return problem_response(refusal.status, refusal.text);
}

Response refusal_of_put(MetricSources& sources, const wire::ClientReply& reply, uint64_t jobs) {
  const std::optional<ReachedLimit> reached =
      reply.is(Word::OutOfMemory) ? reached_limit(sources, jobs) : std::nullopt;
  if (!reached) return refusal_of(reply);
  return problem_response(Status::ServiceUnavailable, reached->text, {{"limit", reached->name}});
}

bool is_duplicate(const wire::ClientReply& inserted) {
  return !inserted.text.empty();
}

Json inserted_json(const wire::ClientReply& inserted) {
  return {{"id", fmt::format("{}", inserted.number)}, {"duplicate", is_duplicate(inserted)}};
}

Response inserted_response(const wire::ClientReply& inserted) {
  return json_response(is_duplicate(inserted) ? Status::Ok : Status::Created,
                       inserted_json(inserted));
}

}  // namespace perennial::http
