#include "cmd/perenniald/http/api/commands.h"

#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {
namespace {

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
    while (std::optional<wire::ClientReply> reply = client_->take()) {
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
      return {Status::ServiceUnavailable,
              "There is no space for this: the disk is nearly full, or a limit is "
              "reached."};
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

}  // namespace perennial::http
