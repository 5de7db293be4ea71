#include "cmd/perenniald/http/leases/lease_answer.h"

#include <utility>

#include "cmd/perenniald/http/problem.h"

namespace perennial::http {
namespace {

class LeaseAnswer final : public Answer {
 public:
  LeaseAnswer(Leases& leases, LeaseCommand command, OfLeaseReply finish)
      : leases_(leases), command_(std::move(command)), finish_(std::move(finish)) {}
  ~LeaseAnswer() override { leases_.forget(call_); }

  Step step() override {
    if (!std::exchange(is_sent_, true)) {
      call_.wake = [this] { wake(); };
      leases_.call(command_.lease, command_.command, command_.body, call_);
    }
    return call_.is_answered ? Step::Whole : Step::Waits;
  }
  Response take() override {
    leases_.remove_ended();
    if (!call_.reply || call_.reply->is(Word::NotFound)) return lease_has_ended();
    return finish_(*call_.reply);
  }

 private:
  Leases& leases_;
  const LeaseCommand command_;
  const OfLeaseReply finish_;
  bool is_sent_ = false;
  LeaseCall call_;
};

}  // namespace

std::unique_ptr<Answer> make_lease_answer(Leases& leases, LeaseCommand command,
                                          OfLeaseReply finish) {
  return std::make_unique<LeaseAnswer>(leases, std::move(command), std::move(finish));
}

Response lease_has_ended() {
  return problem_response(Status::Conflict,
                          "The lease has ended, and nothing was changed: the job was finished or "
                          "taken back, or its time was over, and another worker may have it.");
}

}  // namespace perennial::http
