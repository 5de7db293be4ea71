#include "cmd/perenniald/http/leases/reservation.h"

#include <utility>

namespace perennial::http {
namespace {

access::ClientRights with_leases(access::ClientRights rights) {
  rights.has_leases = true;
  return rights;
}

}  // namespace

Reservation::Reservation(QueueClients& queue, access::ClientRights rights, std::string of_user)
    : user(std::move(of_user)),
      address(rights.address),
      client_(queue.open(with_leases(std::move(rights)), [this] {
        if (on_news) on_news();
      })) {}

// A client that says that it goes gives back its jobs without an attempt.
Reservation::~Reservation() {
  client_->send(Quit{});
}

}  // namespace perennial::http
