#include "store/etcd/grpc_client.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <grpc/support/time.h>

#include "store/etcd/access.h"
#include "store/etcd/call_failure.h"
#include "store/etcd/channels.h"
#include "store/etcd/grpc_call.h"
#include "store/etcd/messages.h"
#include "store/etcd/watch_stream.h"

namespace perennial::store::etcd {
namespace {

namespace pb = etcdserverpb;

// etcd hashes the password slowly on purpose.
constexpr Nanos authenticate_deadline = 2 * nanos_per_second;
constexpr Nanos watch_token_deadline = 5 * nanos_per_second;

template <typename Reply>
using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>>;

class GrpcClient final : public Client {
 public:
  GrpcClient(GrpcExecutor& executor, GrpcClientOptions options, Channels channels);
  ~GrpcClient() override;

  void get(Get request, Nanos deadline, Done<Found> done) override;
  void commit(Transaction transaction, Nanos deadline, Done<TransactionDone> done) override;
  void compact(Revision revision, Nanos deadline, Done<Compacted> done) override;
  void grant(int64_t ttl_s, Nanos deadline, Done<LeaseGranted> done) override;
  void keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) override;
  void revoke(LeaseId lease, Nanos deadline, Done<LeaseRevoked> done) override;
  void time_to_live(LeaseId lease, Nanos deadline, Done<LeaseLeft> done) override;
  WatchId watch(KeyRange range, Revision from, std::function<void(WatchReport)> report) override;
  void cancel_watch(WatchId watch) override;
  void member_status(size_t member, Nanos deadline, Done<MemberStatus> done) override;
  void disarm(Alarm alarm, Nanos deadline, Done<AlarmDisarmed> done) override;
  size_t members() const override { return channels_.size(); }
  void prefer(size_t member) override { channels_.prefer(member); }

 private:
  // A watch waits for a token first and then has a stream.
  struct Watch {
    KeyRange range;
    Revision from = 0;
    std::function<void(WatchReport)> report;
    Access::WaitId wait = 0;
    WatchStream* stream = nullptr;
    size_t member = 0;
    std::string token;
  };

  template <typename Reply, typename T, typename Begin, typename Read>
  void call(Nanos deadline, Done<T> done, Begin begin, Read read);
  template <typename Reply, typename T, typename Begin, typename Read>
  void call_member(size_t member, Nanos deadline, Done<T> done, Begin begin, Read read);
  void begin_keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done);
  void proceed_keep_alive(KeepAliveCall* call, bool ok, const Done<LeaseKept>& done);
  void prepare(GrpcCall& call, size_t member, Nanos deadline);
  Failure failed(const GrpcCall& call);

  void authenticate();
  void begin_watch(WatchId id);
  void watch_ended(WatchId id, WatchStream::End end);
  void end_watch(WatchId id, WatchEnded report);

  GrpcExecutor& executor_;
  const GrpcClientOptions options_;
  Channels channels_;
  Access access_;
  std::unordered_set<GrpcCall*> calls_;
  std::map<WatchId, Watch> watches_;
  WatchId next_watch_ = 1;
};

GrpcClient::GrpcClient(GrpcExecutor& executor, GrpcClientOptions options, Channels channels)
    : executor_(executor),
      options_(std::move(options)),
      channels_(std::move(channels)),
      access_(executor, !options_.user.empty(), [this] { authenticate(); }) {}

GrpcClient::~GrpcClient() {
  for (GrpcCall* call : calls_) call->abandon();
  for (const auto& [id, watch] : watches_)
    if (watch.stream != nullptr) watch.stream->abandon();
}

void GrpcClient::get(Get request, Nanos deadline, Done<Found> done) {
  call<pb::RangeResponse>(
      deadline, std::move(done),
      [message = range_request(std::move(request))](const Member& member, auto* context,
                                                    auto* queue) {
        return member.keys->PrepareAsyncRange(context, message, queue);
      },
      found_of);
}

void GrpcClient::commit(Transaction transaction, Nanos deadline, Done<TransactionDone> done) {
  call<pb::TxnResponse>(
      deadline, std::move(done),
      [message = transaction_request(std::move(transaction))](const Member& member, auto* context,
                                                              auto* queue) {
        return member.keys->PrepareAsyncTxn(context, message, queue);
      },
      transaction_done_of);
}

void GrpcClient::compact(Revision revision, Nanos deadline, Done<Compacted> done) {
  pb::CompactionRequest message;
  message.set_revision(revision);
  call<pb::CompactionResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.keys->PrepareAsyncCompact(context, message, queue);
      },
      [](pb::CompactionResponse&) { return Compacted{}; });
}

void GrpcClient::grant(int64_t ttl_s, Nanos deadline, Done<LeaseGranted> done) {
  CHECK(ttl_s > 0);
  pb::LeaseGrantRequest message;
  message.set_ttl(ttl_s);
  call<pb::LeaseGrantResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseGrant(context, message, queue);
      },
      [](pb::LeaseGrantResponse& reply) {
        return LeaseGranted{.lease = reply.id(), .ttl_s = reply.ttl()};
      });
}

void GrpcClient::keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) {
  access_.when_ready(
      deadline, [this, lease, deadline, done = std::move(done)](std::optional<Failure> failure) {
        if (failure) return done(*std::move(failure));
        begin_keep_alive(lease, deadline, done);
      });
}

void GrpcClient::revoke(LeaseId lease, Nanos deadline, Done<LeaseRevoked> done) {
  pb::LeaseRevokeRequest message;
  message.set_id(lease);
  call<pb::LeaseRevokeResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseRevoke(context, message, queue);
      },
      [](pb::LeaseRevokeResponse&) { return LeaseRevoked{}; });
}

void GrpcClient::time_to_live(LeaseId lease, Nanos deadline, Done<LeaseLeft> done) {
  pb::LeaseTimeToLiveRequest message;
  message.set_id(lease);
  call<pb::LeaseTimeToLiveResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseTimeToLive(context, message, queue);
      },
      // etcd says -1 of a lease that it does not know.
      [](pb::LeaseTimeToLiveResponse& reply) {
        return LeaseLeft{.ttl_s = std::max<int64_t>(reply.ttl(), 0)};
      });
}

// No user is needed for it.
void GrpcClient::member_status(size_t member, Nanos deadline, Done<MemberStatus> done) {
  CHECK(member < channels_.size());
  call_member<pb::StatusResponse>(
      member, deadline, std::move(done),
      [](const Member& asked, auto* context, auto* queue) {
        return asked.maintenance->PrepareAsyncStatus(context, pb::StatusRequest(), queue);
      },
      [endpoint = channels_.member(member).endpoint](pb::StatusResponse& reply) {
        return member_status_of(reply, endpoint);
      });
}

void GrpcClient::disarm(Alarm alarm, Nanos deadline, Done<AlarmDisarmed> done) {
  call<pb::AlarmResponse>(
      deadline, std::move(done),
      [message = disarm_request(alarm)](const Member& member, auto* context, auto* queue) {
        return member.maintenance->PrepareAsyncAlarm(context, message, queue);
      },
      [](pb::AlarmResponse&) { return AlarmDisarmed{}; });
}

// Calls the current member as soon as there is a token.
template <typename Reply, typename T, typename Begin, typename Read>
void GrpcClient::call(Nanos deadline, Done<T> done, Begin begin, Read read) {
  access_.when_ready(deadline, [this, deadline, done = std::move(done), begin = std::move(begin),
                                read](std::optional<Failure> failure) mutable {
    if (failure) return done(*std::move(failure));
    call_member<Reply>(channels_.current(), deadline, std::move(done), std::move(begin), read);
  });
}

// `done` may destroy the client, so it comes last.
template <typename Reply, typename T, typename Begin, typename Read>
void GrpcClient::call_member(size_t member, Nanos deadline, Done<T> done, Begin begin, Read read) {
  auto* const call = new UnaryCall<Reply>;
  prepare(*call, member, deadline);
  call->completion.run = [this, call, done = std::move(done), read](bool) {
    const std::unique_ptr<UnaryCall<Reply>> own(call);
    if (call->is_abandoned) return;
    calls_.erase(call);
    if (!call->status.ok()) return done(failed(*call));
    done(read(call->reply));
  };
  call->reader = begin(channels_.member(member), &call->context, &executor_.queue());
  call->reader->StartCall();
  call->reader->Finish(&call->reply, &call->status, &call->completion);
}

void GrpcClient::begin_keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) {
  auto* const call = new KeepAliveCall;
  prepare(*call, channels_.current(), deadline);
  call->request.set_id(lease);
  call->completion.run = [this, call, done = std::move(done)](bool ok) {
    if (call->is_abandoned)
      delete call;
    else
      proceed_keep_alive(call, ok, done);
  };
  call->stream = channels_.member(call->member)
                     .leases->PrepareAsyncLeaseKeepAlive(&call->context, &executor_.queue());
  call->stream->StartCall(&call->completion);
}

// Start, Write, Read; and Finish as soon as one of them fails, which says why, or the answer is
// there. A lease that etcd does not know has no time left.
void GrpcClient::proceed_keep_alive(KeepAliveCall* call, bool ok, const Done<LeaseKept>& done) {
  using Step = KeepAliveCall::Step;
  if (call->step == Step::Finish) {
    const std::unique_ptr<KeepAliveCall> own(call);
    calls_.erase(call);
    if (!call->is_answered) return done(failed(*call));
    if (call->reply.ttl() > 0) return done(LeaseKept{.ttl_s = call->reply.ttl()});
    return done(Failure{
        .error = CallError::LeaseNotFound,
        .message = fmt::format("{}: there is no lease {:x}",
                               channels_.member(call->member).endpoint, call->request.id())});
  }
  call->is_answered = ok && call->step == Step::Read;
  if (!ok || call->is_answered) {
    call->step = Step::Finish;
    if (call->is_answered) call->context.TryCancel();
    call->stream->Finish(&call->status, &call->completion);
  } else if (call->step == Step::Start) {
    call->step = Step::Write;
    call->stream->Write(call->request, &call->completion);
  } else {
    call->step = Step::Read;
    call->stream->Read(&call->reply, &call->completion);
  }
}

void GrpcClient::prepare(GrpcCall& call, size_t member, Nanos deadline) {
  call.member = member;
  call.token = access_.token();
  if (!call.token.empty()) call.context.AddMetadata("token", call.token);
  const Nanos left = deadline - executor_.now();  // Negative: gRPC fails the call at once.
  call.context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left, GPR_TIMESPAN)));
  calls_.insert(&call);
}

// Also decides where the next call goes, and with which token.
Failure GrpcClient::failed(const GrpcCall& call) {
  const std::string& endpoint = channels_.member(call.member).endpoint;
  // The stream of a keepalive may end in good order without an answer.
  if (call.status.ok()) return {.error = CallError::Unknown, .message = endpoint + ": no answer"};
  CallFailure failure = call_failure(call.status);
  if (failure.is_token_invalid && !options_.user.empty()) {
    access_.forget(call.token);
    failure.error = CallError::Unknown;
  } else if (failure.error == CallError::Unknown) {
    channels_.failed(call.member, call.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  return {.error = failure.error,
          .message = fmt::format("{}: {}", endpoint, call.status.error_message())};
}

void GrpcClient::authenticate() {
  pb::AuthenticateRequest message;
  message.set_name(options_.user);
  message.set_password(options_.password);
  auto* const call = new UnaryCall<pb::AuthenticateResponse>;
  prepare(*call, channels_.current(), executor_.now() + authenticate_deadline);
  call->completion.run = [this, call](bool) {
    const std::unique_ptr<UnaryCall<pb::AuthenticateResponse>> own(call);
    if (call->is_abandoned) return;
    calls_.erase(call);
    if (call->status.ok()) return access_.set(call->reply.token());
    if (is_authentication_off(call->status)) return access_.set({});
    access_.fail(failed(*call));
  };
  call->reader =
      channels_.member(call->member)
          .authentication->PrepareAsyncAuthenticate(&call->context, message, &executor_.queue());
  call->reader->StartCall();
  call->reader->Finish(&call->reply, &call->status, &call->completion);
}

WatchId GrpcClient::watch(KeyRange range, Revision from, std::function<void(WatchReport)> report) {
  CHECK(from > 0);
  const WatchId id = next_watch_++;
  Watch& watch = watches_[id];
  watch.range = std::move(range);
  watch.from = from;
  watch.report = std::move(report);
  const Nanos deadline = executor_.now() + watch_token_deadline;
  watch.wait = access_.when_ready(deadline, [this, id](std::optional<Failure> failure) {
    if (!failure) return begin_watch(id);
    end_watch(id, {.compact_revision = 0, .message = failure->message});
  });
  return id;
}

void GrpcClient::cancel_watch(WatchId watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  access_.cancel(found->second.wait);
  if (found->second.stream != nullptr) found->second.stream->abandon();
  watches_.erase(found);
}

void GrpcClient::begin_watch(WatchId id) {
  Watch& watch = watches_.at(id);
  watch.member = channels_.current();
  watch.token = access_.token();
  watch.stream = WatchStream::begin(
      executor_, *channels_.member(watch.member).watches, watch.token, watch.range, watch.from,
      {.events = [report = watch.report](WatchEvents events) { report(std::move(events)); },
       .end = [this, id](WatchStream::End end) { watch_ended(id, std::move(end)); }});
}

void GrpcClient::watch_ended(WatchId id, WatchStream::End end) {
  const Watch& watch = watches_.at(id);
  const bool is_refused = end.is_cancelled && end.report.compact_revision == 0;
  // A watch whose token etcd does not know is cancelled like one that is denied.
  if (is_refused || (!end.status.ok() && call_failure(end.status).is_token_invalid))
    access_.forget(watch.token);
  else if (!end.is_cancelled)
    channels_.failed(watch.member, end.is_silent);
  end.report.message = channels_.member(watch.member).endpoint + ": " + end.report.message;
  end_watch(id, std::move(end.report));
}

void GrpcClient::end_watch(WatchId id, WatchEnded report) {
  const std::function<void(WatchReport)> last = std::move(watches_.at(id).report);
  watches_.erase(id);
  last(std::move(report));
}

Status read_password(GrpcClientOptions& options) {
  if (options.password_file.empty()) return {};
  std::ifstream file(options.password_file);
  if (std::getline(file, options.password) && !options.password.empty()) return {};
  return {StatusCode::InvalidArgument,
          options.password_file + " has no password in its first line, or cannot be read"};
}

}  // namespace

Result<std::unique_ptr<Client>> open_grpc_client(GrpcExecutor& executor,
                                                 GrpcClientOptions options) {
  if (Status password = read_password(options); !password.ok()) return password;
  Result<Channels> channels = Channels::open(options);
  if (!channels.ok()) return channels.take_status();
  return std::unique_ptr<Client>(
      std::make_unique<GrpcClient>(executor, std::move(options), channels.take()));
}

}  // namespace perennial::store::etcd
