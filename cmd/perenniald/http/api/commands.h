#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/metrics.h"
#include "cmd/perenniald/http/queue_client.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/command.h"

namespace perennial::http {

// A command of the queue, with the body of a put or the items of a put-batch.
struct QueueCommand {
  Command command;
  std::string body = {};
  // The tube of which a grant is missing if it is refused. Empty: what the command names.
  std::string forbidden_tube = {};
};
using QueueReplies = std::vector<wire::ClientReply>;
// Makes a response of the replies to all commands.
using OfReplies = std::function<Response(QueueReplies replies)>;

// An answer that is known when the queue has answered these commands, which are sent one behind the
// other by a client with the caller's rights. Behind INSERTED_BATCH there is a reply for each item.
std::unique_ptr<Answer> make_command_answer(QueueClients& queue, const Caller& caller,
                                            std::vector<QueueCommand> commands, OfReplies finish);

// What is said of a reply that is not the one that was hoped for, and the response to it.
struct RefusedAs {
  Status status;
  std::string text;
};
RefusedAs refused_as(const wire::ClientReply& reply);
Response refusal_of(const wire::ClientReply& reply);
// The same of a put of so many jobs. One that had no space names the limit that is reached now, as
// `limit`, if one is: the queue does not say which it was. Keys are not counted here, so keys_max
// is never named.
Response refusal_of_put(MetricSources& sources, const wire::ClientReply& reply, uint64_t jobs);

// What is said of INSERTED: the id, and whether that is a job which was there already; and the
// response, 201 for a new job and 200 for the other.
bool is_duplicate(const wire::ClientReply& inserted);
Json inserted_json(const wire::ClientReply& inserted);
Response inserted_response(const wire::ClientReply& inserted);

}  // namespace perennial::http
