#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/access/client_rights.h"
#include "cmd/perenniald/http/queue_client.h"
#include "engine/types/command.h"
#include "wire/client.h"

namespace perennial::http {

// A command for the job of a lease. Whoever gives it to Leases::call() keeps it until its answer
// has come, or Leases::forget().
struct LeaseCall {
  std::function<void()> wake = {};  // It is called when the answer has come.
  bool is_answered = false;
  // None, when it is answered: the lease had ended.
  std::optional<wire::ClientReply> reply = {};
  ConnId reservation = 0;  // Leases sets it: whose client has the command.
};

// Jobs that were reserved together, and the client of the queue that holds them. A client that
// holds jobs reserves no further ones: it would be told DEADLINE_SOON. What it still holds at its
// end is ready at once, and the attempt does not count.
class Reservation {
 public:
  Reservation(QueueClients& queue, access::ClientRights rights, std::string of_user);
  ~Reservation();
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;

  QueueClient& client() { return *client_; }
  ConnId id() const { return client_->id(); }

  const std::string user;     // Empty: there are no users.
  const std::string address;  // From which they were reserved.
  // Called when answers have come, or the server has ended the client.
  std::function<void()> on_news;
  // The leases of its jobs that have not ended.
  std::vector<uint64_t> leases;
  // The commands that are not answered, in their order. Null: nobody wants the answer any more.
  struct Pending {
    LeaseCall* call;
    uint64_t lease;
  };
  std::deque<Pending> pending;

 private:
  std::unique_ptr<QueueClient> client_;
};

}  // namespace perennial::http
