#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/perenniald/http/api/answers.h"
#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/commands.h"
#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/api/reserve_answer.h"
#include "cmd/perenniald/http/api/row_text.h"
#include "cmd/perenniald/http/leases/lease_answer.h"

// What workers hold over HTTP, for those who manage the tubes: a worker that is dead does not
// finish its jobs, and nobody else has the token of its lease.
namespace perennial::http {
namespace {

// The job that the lease holds. None: it holds it no more.
std::optional<JobStats> job_of(const engine::EngineView& engine, const Leases::Lease& lease) {
  std::optional<JobStats> job = engine.job_statistics(lease.job);
  return job && job->holder == lease.reservation ? std::move(job) : std::nullopt;
}

// A page of leases, found in steps of so many that are looked at.
class LeasesPage final : public Answer {
 public:
  struct Asked {
    std::string tube = {};  // Empty: all those that the caller manages.
    uint64_t after = 0;
    uint64_t limit = page_default;
  };
  LeasesPage(ApiSources& sources, const Leases& leases, Caller caller, Asked asked)
      : sources_(sources),
        leases_(leases),
        caller_(std::move(caller)),
        asked_(std::move(asked)),
        last_(asked_.after) {}

  Step step() override {
    constexpr size_t looked_at_per_step = 1'000;
    const engine::EngineView engine = sources_.engine();
    const Leases::ByNumber& all = leases_.by_number();
    auto at = all.upper_bound(last_);
    const size_t listed_before = listed_;
    for (size_t i = 0; i < looked_at_per_step && at != all.end(); ++i, ++at) {
      if (listed_ == asked_.limit) return Step::Whole;
      if (listed_ - listed_before == RowText::rows_per_step) return Step::Again;
      last_ = at->first;
      const std::optional<JobStats> job = job_of(engine, at->second);
      if (!job || !is_wanted(*job)) continue;
      text_.add(row(at->first, at->second, *job));
      ++listed_;
    }
    is_at_end_ = at == all.end();
    return is_at_end_ ? Step::Whole : Step::Again;
  }
  Response take() override {
    return text_.response("leases",
                          {{"next", is_at_end_ ? Json(nullptr) : Json(fmt::format("{}", last_))}});
  }

 private:
  bool is_wanted(const JobStats& job) const {
    if (!asked_.tube.empty()) return job.tube == asked_.tube;
    return caller_.may_on(job.tube, access::Verb::Manage);
  }
  Json row(uint64_t number, const Leases::Lease& lease, const JobStats& job) const {
    const Reservation& reservation = leases_.reservation_of(lease);
    const Nanos now = sources_.now();
    Json out = {{"id", fmt::format("{}", number)},
                {"job", fmt::format("{}", job.id)},
                {"tube", job.tube},
                {"user", reservation.user.empty() ? Json(nullptr) : Json(reservation.user)},
                {"address", reservation.address},
                {"age_seconds", in_seconds(now - lease.began_at)}};
    out.update(lease_end_json(lease.ends_at, now));
    return out;
  }

  ApiSources& sources_;
  const Leases& leases_;
  const Caller caller_;
  const Asked asked_;
  uint64_t last_;  // The last one that was looked at.
  uint64_t listed_ = 0;
  bool is_at_end_ = false;
  RowText text_;
};

}  // namespace

Api::Made Api::leases(const Ask& ask) {
  Query query(ask.request.query);
  LeasesPage::Asked asked = {.tube = query.text("tube").value_or(""),
                             .after = query.number("after", 0, 0, UINT64_MAX),
                             .limit = query.number("limit", page_default, 1, page_max)};
  if (!query.problem().empty()) return refuse(Status::BadRequest, query.problem());
  if (!asked.tube.empty()) {
    if (Made refusal = refused(ask, KickTube{.tube = asked.tube})) return refusal;
  }
  return std::make_unique<LeasesPage>(sources_, leases_, ask.caller, std::move(asked));
}

// The job is released as its worker would release it. So the attempt counts, as that of a worker
// whose connection ends: the job may be why the worker is dead.
Api::Made Api::end_lease(const Ask& ask) {
  constexpr std::string_view absent =
      "There is no such lease. It has ended, or the tube of its job is not one that you manage.";
  const std::optional<uint64_t> number = number_of(ask.names.front(), UINT64_MAX);
  const Leases::Lease* const lease = number ? leases_.find(*number) : nullptr;
  const std::optional<JobStats> job =
      lease != nullptr ? job_of(sources_.engine(), *lease) : std::nullopt;
  if (!job) return not_found(absent);
  if (!ask.caller.may_on(job->tube, access::Verb::Manage)) {
    on_refused(ask, access::Verb::Manage, job->tube);
    return not_found(absent);
  }
  const std::string& user = leases_.reservation_of(*lease).user;
  audit_change(ask, "end-lease",
               fmt::format("job {} of tube {}{}", job->id, job->tube,
                           user.empty() ? "" : fmt::format(", held by {}", user)));
  Release release = {.id = job->id, .priority = {}, .delay_s = 0};
  return make_lease_answer(
      leases_, {.lease = *number, .command = release},
      [this, id = job->id](const wire::ClientReply& reply) {
        if (!reply.is(Word::Released) && !reply.is(Word::Buried)) return refusal_of(reply);
        // Somebody else may have it by now; one that has expired is gone.
        const std::optional<JobStats> now = sources_.engine().job_statistics(id);
        return json_response(Status::Ok,
                             {{"ended", true},
                              {"dead", reply.is(Word::Buried)},
                              {"state", now ? Json(state_name(now->state)) : Json(nullptr)}});
      });
}

}  // namespace perennial::http
