#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/leases/leases.h"
#include "engine/types/command.h"
#include "wire/client.h"

namespace perennial::http {

// A command for the job of a lease, with the text of a note.
struct LeaseCommand {
  uint64_t lease = 0;
  Command command;
  std::string body = {};
};

// The response to what the queue has answered. It is not called if the lease has ended.
using OfLeaseReply = std::function<Response(const wire::ClientReply& reply)>;

// 409 if the lease has ended, whoever holds the job now.
std::unique_ptr<Answer> make_lease_answer(Leases& leases, LeaseCommand command,
                                          OfLeaseReply finish);
Response lease_has_ended();

}  // namespace perennial::http
