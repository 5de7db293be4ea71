#include "cmd/perenniald/http/api/job_view.h"

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"

namespace perennial::http {

Json JobView::holders_of(const JobStats& job) const {
  Json fields = Json::object();
  if (job.holder == 0) return fields;
  if (!QueueClients::owns(job.holder)) {
    if (caller_.may(access::Verb::Admin)) fields["held_by"] = holder_of(job);
  } else if (leases_ != nullptr && caller_.may_on(job.tube, access::Verb::Manage)) {
    if (Json lease = lease_of(job); !lease.is_null()) fields["leased_by"] = std::move(lease);
  }
  return fields;
}

Json JobView::of(const JobStats& job, const Json& holders) const {
  Json value = job_json(job);
  value["may"] = may_json(caller_, job.tube);
  value.update(holders);
  return value;
}

// It is shown to those who may see connections.
Json JobView::holder_of(const JobStats& job) const {
  const std::string_view user = sources_.user_of(job.holder);
  return {{"id", fmt::format("{}", job.holder)},
          {"address", sources_.address_of(job.holder)},
          {"user", user.empty() ? Json(nullptr) : Json(user)}};
}

// It is shown to those who may end it. Null: the client is another part of this server.
Json JobView::lease_of(const JobStats& job) const {
  const std::optional<uint64_t> number = leases_->lease_of(job.holder, job.id);
  if (!number) return nullptr;
  const Reservation& reservation = leases_->reservation_of(*leases_->find(*number));
  return {{"lease", fmt::format("{}", *number)},
          {"address", reservation.address},
          {"user", reservation.user.empty() ? Json(nullptr) : Json(reservation.user)}};
}

}  // namespace perennial::http
