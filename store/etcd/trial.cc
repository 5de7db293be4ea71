#include "store/etcd/trial.h"

#include <utility>

#include <fmt/format.h>

#include "engine/types/check.h"

namespace perennial::store::etcd {
namespace {

namespace pb = etcdserverpb;

// With the time to connect.
constexpr Nanos response_within = 3 * nanos_per_second;

}  // namespace

Trial::Trial(GrpcExecutor& executor, Channels channels, std::function<void(const Outcome&)> done)
    : executor_(executor), channels_(std::move(channels)), done_(std::move(done)) {
  CHECK(channels_.size() > 0);
  for (size_t member = 0; member < channels_.size(); ++member) ask(member);
}

Trial::~Trial() {
  for (GrpcCall* call : calls_) call->abandon();
}

void Trial::ask(size_t member) {
  auto* const call = new UnaryCall<pb::StatusResponse>;
  call->member = channels_.member(member);
  call->set_deadline_in(response_within);
  call->completion.run = [this, call, member](bool) {
    const std::unique_ptr<UnaryCall<pb::StatusResponse>> own(call);
    if (!call->is_abandoned) on_response(member, *call);
  };
  calls_.push_back(call);
  call->reader = call->member->maintenance->PrepareAsyncStatus(&call->context, pb::StatusRequest(),
                                                               &executor_.queue());
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, &call->completion);
}

void Trial::on_response(size_t member, const UnaryCall<pb::StatusResponse>& call) {
  std::erase(calls_, &call);
  if (call.status.ok()) {
    return end({.is_answered = true,
                .member = member,
                .etcd_cluster = call.response.header().cluster_id()});
  }
  if (!calls_.empty()) return;
  end({.failure = fmt::format("{}: {}", call.member->endpoint, call.status.error_message())});
}

// `done` may destroy this, so it comes last.
void Trial::end(const Outcome& outcome) {
  for (GrpcCall* call : std::exchange(calls_, {})) call->abandon();
  const std::function<void(const Outcome&)> done = std::move(done_);
  done(outcome);
}

}  // namespace perennial::store::etcd
