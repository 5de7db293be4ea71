#include "store/etcd/grpc_client.h"

#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "store/etcd/access.h"
#include "store/etcd/call_failure.h"
#include "store/etcd/channels.h"
#include "store/etcd/grpc_call.h"
#include "store/etcd/messages.h"
#include "store/etcd/password.h"
#include "store/etcd/tls_files.h"
#include "store/etcd/trial.h"
#include "store/etcd/watch_stream.h"

namespace perennial::store::etcd {
namespace {

namespace pb = etcdserverpb;

// etcd uses a slow hash for passwords on purpose.
constexpr Nanos authenticate_deadline = 2 * nanos_per_second;
constexpr Nanos watch_token_deadline = 5 * nanos_per_second;

bool is_same(const GrpcClientOptions& one, const GrpcClientOptions& other) {
  const auto all = [](const GrpcClientOptions& options) {
    return std::tie(options.endpoints, options.ca_file, options.certificate_file, options.key_file,
                    options.user, options.password, options.password_file);
  };
  return all(one) == all(other);
}

template <typename Response>
using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;

class ChannelsClient final : public GrpcClient {
 public:
  ChannelsClient(GrpcExecutor& executor, GrpcClientOptions options, TlsFiles files,
                 Channels channels, GrpcClientEvents events);
  ~ChannelsClient() override;

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
  void reconfigure(GrpcClientOptions options) override;
  // Reads the files again and retries refused options, from now on every reread_interval_.
  void reread_files();

 private:
  // A watch waits for a token first and then has a stream.
  struct Watch {
    KeyRange range;
    Revision from = 0;
    std::function<void(WatchReport)> report;
    Access::WaitId wait = 0;
    WatchStream* stream = nullptr;
    std::shared_ptr<const Member> member;
    std::string token;
  };

  template <typename Response, typename T, typename Begin, typename Read>
  void call(Nanos deadline, Done<T> done, Begin begin, Read read);
  template <typename Response, typename T, typename Begin, typename Read>
  void call_member(const std::shared_ptr<const Member>& member, Nanos deadline, Done<T> done,
                   Begin begin, Read read);
  void begin_keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done);
  void proceed_keep_alive(KeepAliveCall* call, bool ok, const Done<LeaseKept>& done);
  void prepare(GrpcCall& call, std::shared_ptr<const Member> member, Nanos deadline);
  Failure failed(const GrpcCall& call);

  void authenticate();
  void authenticated(const UnaryCall<pb::AuthenticateResponse>& call, const std::string& user,
                     const std::string& password);
  void begin_watch(WatchId id);
  void watch_ended(WatchId id, WatchStream::End end);
  void end_watch(WatchId id, WatchEnded report);

  void try_options();
  void tried(const Trial::Outcome& outcome);
  void refuse_options(const std::string& why);

  GrpcExecutor& executor_;
  const GrpcClientEvents events_;
  const Nanos reread_interval_;
  GrpcClientOptions options_;
  TlsFiles files_;  // Of the options.
  Channels channels_;
  Access access_;
  Password password_;
  uint64_t etcd_cluster_ = 0;  // The identity of the etcd cluster. 0: no member has answered yet.

  // New options, which are retried until they can be used.
  struct Wanted {
    GrpcClientOptions options;
    TlsFiles files;                // As they were read last.
    std::unique_ptr<Trial> trial;  // Null: none is under way.
  };
  std::optional<Wanted> wanted_;
  std::string refused_;  // The refusal that was reported last. Empty: the options are in use.
  TimerId reread_timer_ = 0;

  std::unordered_set<GrpcCall*> calls_;
  std::map<WatchId, Watch> watches_;
  WatchId next_watch_ = 1;
};

ChannelsClient::ChannelsClient(GrpcExecutor& executor, GrpcClientOptions options, TlsFiles files,
                               Channels channels, GrpcClientEvents events)
    : executor_(executor),
      events_(std::move(events)),
      reread_interval_(options.reread_interval),
      options_(std::move(options)),
      files_(std::move(files)),
      channels_(std::move(channels)),
      access_(executor, !options_.user.empty(), [this] { authenticate(); }) {}

ChannelsClient::~ChannelsClient() {
  if (reread_timer_ != 0) executor_.cancel_timer(reread_timer_);
  for (GrpcCall* call : calls_) call->abandon();
  for (const auto& [id, watch] : watches_)
    if (watch.stream != nullptr) watch.stream->abandon();
}

void ChannelsClient::get(Get request, Nanos deadline, Done<Found> done) {
  call<pb::RangeResponse>(
      deadline, std::move(done),
      [message = range_request(std::move(request))](const Member& member, auto* context,
                                                    auto* queue) {
        return member.keys->PrepareAsyncRange(context, message, queue);
      },
      found_of);
}

void ChannelsClient::commit(Transaction transaction, Nanos deadline, Done<TransactionDone> done) {
  call<pb::TxnResponse>(
      deadline, std::move(done),
      [message = transaction_request(std::move(transaction))](const Member& member, auto* context,
                                                              auto* queue) {
        return member.keys->PrepareAsyncTxn(context, message, queue);
      },
      transaction_done_of);
}

void ChannelsClient::compact(Revision revision, Nanos deadline, Done<Compacted> done) {
  pb::CompactionRequest message;
  message.set_revision(revision);
  call<pb::CompactionResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.keys->PrepareAsyncCompact(context, message, queue);
      },
      [](pb::CompactionResponse&) { return Compacted{}; });
}

void ChannelsClient::grant(int64_t ttl_s, Nanos deadline, Done<LeaseGranted> done) {
  CHECK(ttl_s > 0);
  pb::LeaseGrantRequest message;
  message.set_ttl(ttl_s);
  call<pb::LeaseGrantResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseGrant(context, message, queue);
      },
      [](pb::LeaseGrantResponse& response) {
        return LeaseGranted{.lease = response.id(), .ttl_s = response.ttl()};
      });
}

void ChannelsClient::keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) {
  access_.when_ready(
      deadline, [this, lease, deadline, done = std::move(done)](std::optional<Failure> failure) {
        if (failure) return done(*std::move(failure));
        begin_keep_alive(lease, deadline, done);
      });
}

void ChannelsClient::revoke(LeaseId lease, Nanos deadline, Done<LeaseRevoked> done) {
  pb::LeaseRevokeRequest message;
  message.set_id(lease);
  call<pb::LeaseRevokeResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseRevoke(context, message, queue);
      },
      [](pb::LeaseRevokeResponse&) { return LeaseRevoked{}; });
}

void ChannelsClient::time_to_live(LeaseId lease, Nanos deadline, Done<LeaseLeft> done) {
  pb::LeaseTimeToLiveRequest message;
  message.set_id(lease);
  call<pb::LeaseTimeToLiveResponse>(
      deadline, std::move(done),
      [message](const Member& member, auto* context, auto* queue) {
        return member.leases->PrepareAsyncLeaseTimeToLive(context, message, queue);
      },
      // etcd returns -1 for a lease that it does not know.
      [](pb::LeaseTimeToLiveResponse& response) {
        return LeaseLeft{.ttl_s = std::max<int64_t>(response.ttl(), 0)};
      });
}

// No user is needed for it.
void ChannelsClient::member_status(size_t member, Nanos deadline, Done<MemberStatus> done) {
  CHECK(member < channels_.size());
  call_member<pb::StatusResponse>(
      channels_.member(member), deadline, std::move(done),
      [](const Member& asked, auto* context, auto* queue) {
        return asked.maintenance->PrepareAsyncStatus(context, pb::StatusRequest(), queue);
      },
      [endpoint = channels_.member(member)->endpoint](pb::StatusResponse& response) {
        return member_status_of(response, endpoint);
      });
}

void ChannelsClient::disarm(Alarm alarm, Nanos deadline, Done<AlarmDisarmed> done) {
  call<pb::AlarmResponse>(
      deadline, std::move(done),
      [message = disarm_request(alarm)](const Member& member, auto* context, auto* queue) {
        return member.maintenance->PrepareAsyncAlarm(context, message, queue);
      },
      [](pb::AlarmResponse&) { return AlarmDisarmed{}; });
}

// Calls the current member as soon as there is a token.
template <typename Response, typename T, typename Begin, typename Read>
void ChannelsClient::call(Nanos deadline, Done<T> done, Begin begin, Read read) {
  access_.when_ready(deadline, [this, deadline, done = std::move(done), begin = std::move(begin),
                                read](std::optional<Failure> failure) mutable {
    if (failure) return done(*std::move(failure));
    call_member<Response>(channels_.current(), deadline, std::move(done), std::move(begin), read);
  });
}

// `done` may destroy the client, so it comes last.
template <typename Response, typename T, typename Begin, typename Read>
void ChannelsClient::call_member(const std::shared_ptr<const Member>& member, Nanos deadline,
                                 Done<T> done, Begin begin, Read read) {
  auto* const call = new UnaryCall<Response>;
  prepare(*call, member, deadline);
  call->completion.run = [this, call, done = std::move(done), read](bool) {
    const std::unique_ptr<UnaryCall<Response>> own(call);
    if (call->is_abandoned) return;
    calls_.erase(call);
    if (!call->status.ok()) return done(failed(*call));
    etcd_cluster_ = call->response.header().cluster_id();
    done(read(call->response));
  };
  call->reader = begin(*call->member, &call->context, &executor_.queue());
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, &call->completion);
}

void ChannelsClient::begin_keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) {
  auto* const call = new KeepAliveCall;
  prepare(*call, channels_.current(), deadline);
  call->request.set_id(lease);
  call->completion.run = [this, call, done = std::move(done)](bool ok) {
    if (call->is_abandoned)
      delete call;
    else
      proceed_keep_alive(call, ok, done);
  };
  call->stream =
      call->member->leases->PrepareAsyncLeaseKeepAlive(&call->context, &executor_.queue());
  call->stream->StartCall(&call->completion);
}

// The steps are Start, Write, Read and Finish. Finish comes early if one before it fails, and its
// status says why. For a lease that etcd does not know the response has a time of 0.
void ChannelsClient::proceed_keep_alive(KeepAliveCall* call, bool ok, const Done<LeaseKept>& done) {
  using Step = KeepAliveCall::Step;
  if (call->step == Step::Finish) {
    const std::unique_ptr<KeepAliveCall> own(call);
    calls_.erase(call);
    if (!call->is_answered) return done(failed(*call));
    if (call->response.ttl() > 0) return done(LeaseKept{.ttl_s = call->response.ttl()});
    return done(Failure{.error = CallError::LeaseNotFound,
                        .message = fmt::format("{}: there is no lease {:x}", call->member->endpoint,
                                               call->request.id())});
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
    call->stream->Read(&call->response, &call->completion);
  }
}

void ChannelsClient::prepare(GrpcCall& call, std::shared_ptr<const Member> member, Nanos deadline) {
  call.member = std::move(member);
  call.token = access_.token();
  if (!call.token.empty()) call.context.AddMetadata("token", call.token);
  call.set_deadline_in(deadline - executor_.now());
  calls_.insert(&call);
}

// Returns what the failure means, and chooses the member and the token of the next call.
Failure ChannelsClient::failed(const GrpcCall& call) {
  const std::string& endpoint = call.member->endpoint;
  // The stream of a keepalive may end with status OK and without a response.
  if (call.status.ok()) return {.error = CallError::Unknown, .message = endpoint + ": no answer"};
  CallFailure failure = call_failure(call.status);
  const bool is_late = call.status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  // When a token was requested, authentication was switched off. It is on now.
  const bool lacks_token = failure.is_forbidden && call.token.empty();
  if ((failure.is_token_invalid || lacks_token) && !options_.user.empty()) {
    access_.forget(call.token);
    failure.error = CallError::Unknown;
  } else if (failure.error == CallError::Unknown) {
    channels_.failed(call.member, is_late);
    // A token names the index of etcd's log at which it was issued. An etcd that was restored to an
    // earlier state waits for that index, and answers nothing. So a new token is requested.
    if (is_late && !call.token.empty()) access_.forget(call.token);
  }
  return {.error = failure.error,
          .message = fmt::format("{}: {}", endpoint, call.status.error_message())};
}

void ChannelsClient::authenticate() {
  const Result<std::string> password = password_.next(options_, executor_.now());
  if (!password.ok()) {
    return access_.fail({.error = CallError::Denied, .message = password.status().message()});
  }
  pb::AuthenticateRequest message;
  message.set_name(options_.user);
  message.set_password(*password);
  auto* const call = new UnaryCall<pb::AuthenticateResponse>;
  prepare(*call, channels_.current(), executor_.now() + authenticate_deadline);
  call->completion.run = [this, call, user = options_.user, password = *password](bool) {
    const std::unique_ptr<UnaryCall<pb::AuthenticateResponse>> own(call);
    if (call->is_abandoned) return;
    calls_.erase(call);
    authenticated(*call, user, password);
  };
  call->reader = call->member->authentication->PrepareAsyncAuthenticate(&call->context, message,
                                                                        &executor_.queue());
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, &call->completion);
}

void ChannelsClient::authenticated(const UnaryCall<pb::AuthenticateResponse>& call,
                                   const std::string& user, const std::string& password) {
  if (user != options_.user) {  // The options have changed meanwhile.
    return options_.user.empty() ? access_.set({}) : authenticate();
  }
  if (is_authentication_off(call.status)) return access_.set({});
  if (call.status.ok()) {
    if (password_.taken(password) && events_.password_used) events_.password_used();
    return access_.set(call.response.token());
  }
  const Failure failure = failed(call);
  if (failure.error != CallError::Denied) return access_.fail(failure);
  const bool is_news = password_.refused(password, executor_.now());
  if (is_news && events_.password_refused) events_.password_refused(failure.message);
  authenticate();  // Now with the other password, if there is one: password.h.
}

WatchId ChannelsClient::watch(KeyRange range, Revision from,
                              std::function<void(WatchReport)> report) {
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

void ChannelsClient::cancel_watch(WatchId watch) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  access_.cancel(found->second.wait);
  if (found->second.stream != nullptr) found->second.stream->abandon();
  watches_.erase(found);
}

void ChannelsClient::begin_watch(WatchId id) {
  Watch& watch = watches_.at(id);
  watch.member = channels_.current();
  watch.token = access_.token();
  watch.stream = WatchStream::begin(
      executor_, *watch.member->watches, watch.token, watch.range, watch.from,
      {.events = [report = watch.report](WatchEvents events) { report(std::move(events)); },
       .end = [this, id](WatchStream::End end) { watch_ended(id, std::move(end)); }});
}

void ChannelsClient::watch_ended(WatchId id, WatchStream::End end) {
  const Watch& watch = watches_.at(id);
  const bool is_refused = end.is_cancelled && end.report.compact_revision == 0;
  // etcd cancels a watch with an unknown token like one that is denied, so the cause may be either.
  if (is_refused || (!end.status.ok() && call_failure(end.status).is_token_invalid))
    access_.forget(watch.token);
  else if (!end.is_cancelled)
    channels_.failed(watch.member, end.is_silent);
  end.report.message = watch.member->endpoint + ": " + end.report.message;
  end_watch(id, std::move(end.report));
}

void ChannelsClient::end_watch(WatchId id, WatchEnded report) {
  const std::function<void(WatchReport)> last = std::move(watches_.at(id).report);
  watches_.erase(id);
  last(std::move(report));
}

void ChannelsClient::reconfigure(GrpcClientOptions options) {
  password_.forget_refusals();
  refused_.clear();
  wanted_ = Wanted{.options = std::move(options), .files = {}, .trial = nullptr};
  try_options();
}

void ChannelsClient::reread_files() {
  reread_timer_ = executor_.after(reread_interval_, [this] { reread_files(); });
  if (!wanted_) wanted_ = Wanted{.options = options_, .files = {}, .trial = nullptr};
  if (wanted_->trial == nullptr) try_options();
}

void ChannelsClient::try_options() {
  Result<TlsFiles> files = read_tls_files(wanted_->options, files_);
  if (!files.ok()) return refuse_options(files.status().message());
  if (*files == files_ && is_same(wanted_->options, options_)) {
    wanted_.reset();
    refused_.clear();
    return;
  }
  Result<Channels> channels = Channels::open(wanted_->options, *files);
  CHECK(channels.ok());
  wanted_->files = files.take();
  wanted_->trial = std::make_unique<Trial>(executor_, channels.take(),
                                           [this](const Trial::Outcome& out) { tried(out); });
}

void ChannelsClient::tried(const Trial::Outcome& outcome) {
  const std::unique_ptr<Trial> trial = std::move(wanted_->trial);
  if (!outcome.is_answered) {
    return refuse_options("no member of etcd answers: " + outcome.failure);
  }
  if (etcd_cluster_ != 0 && outcome.etcd_cluster != etcd_cluster_) {
    return refuse_options(fmt::format("{} is a member of another etcd cluster",
                                      wanted_->options.endpoints[outcome.member]));
  }
  channels_ = trial->take_channels();
  channels_.prefer(outcome.member);
  const bool is_other_user = wanted_->options.user != options_.user;
  options_ = std::move(wanted_->options);
  files_ = std::move(wanted_->files);
  wanted_.reset();
  refused_.clear();
  if (is_other_user) {
    password_ = {};
    access_.change_user(!options_.user.empty());
  }
  if (events_.options_used) events_.options_used();
}

void ChannelsClient::refuse_options(const std::string& why) {
  if (std::exchange(refused_, why) != why && events_.options_refused) events_.options_refused(why);
}

}  // namespace

Result<std::unique_ptr<GrpcClient>> open_grpc_client(GrpcExecutor& executor,
                                                     GrpcClientOptions options,
                                                     GrpcClientEvents events) {
  if (Result<std::string> password = Password::read(options); !password.ok())
    return password.take_status();
  Result<TlsFiles> files = read_tls_files(options);
  if (!files.ok()) return files.take_status();
  Result<Channels> channels = Channels::open(options, *files);
  if (!channels.ok()) return channels.take_status();
  // Bad files are no error here: there are none from before to go on with, and they may be mended
  // while the client runs.
  const Status checked = options.check_files ? options.check_files() : Status();
  if (!checked.ok() && events.options_refused) events.options_refused(checked.message());
  const bool rereads_files = options.reread_interval > 0;
  auto client = std::make_unique<ChannelsClient>(executor, std::move(options), files.take(),
                                                 channels.take(), std::move(events));
  // The client is destroyed on the executor's thread or after its end, so it outlives this call.
  if (rereads_files) executor.post([first = client.get()] { first->reread_files(); });
  return std::unique_ptr<GrpcClient>(std::move(client));
}

}  // namespace perennial::store::etcd
