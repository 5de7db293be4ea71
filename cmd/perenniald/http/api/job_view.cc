#include "cmd/perenniald/http/api/job_view.h"

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"

namespace perennial::http {

// Who holds the job is shown to those who may see connections. A client of this server itself is
// none of them.
Json JobView::of(const JobStats& job) const {
  Json value = job_json(job);
  value["may"] = may_json(caller_, job.tube);
  if (job.holder == 0 || QueueClients::owns(job.holder)) return value;
  if (!caller_.may(access::Verb::Admin)) return value;
  const std::string_view user = sources_.user_of(job.holder);
  value["held_by"] = {{"id", fmt::format("{}", job.holder)},
                      {"address", sources_.address_of(job.holder)},
                      {"user", user.empty() ? Json(nullptr) : Json(user)}};
  return value;
}

}  // namespace perennial::http
