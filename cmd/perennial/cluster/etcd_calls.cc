#include "cmd/perennial/cluster/etcd_calls.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "store/etcd/grpc_client.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::tool {
namespace {

using store::etcd::CallError;
using store::etcd::Client;
using store::etcd::Done;
using store::etcd::Failure;
using store::etcd::LeaseGranted;
using store::etcd::LeaseId;
using store::etcd::LeaseLeft;
using store::etcd::MemberStatus;
using store::etcd::Outcome;
using store::etcd::Transaction;
using store::etcd::TransactionDone;

constexpr Nanos try_timeout = nanos_per_second;
constexpr Nanos retry_delay = 75 * nanos_per_ms;

}  // namespace

struct EtcdCalls::Etcd {
  ~Etcd() {
    executor.stop();
    client.reset();
  }
  store::etcd::GrpcExecutor executor;
  std::unique_ptr<store::etcd::Client> client;
};

Result<std::unique_ptr<EtcdCalls>> EtcdCalls::open(const perenniald::ClusterConfig& cluster) {
  if (Status secrets = perenniald::check_etcd_secrets(cluster); !secrets.ok()) return secrets;
  EtcdPointer etcd(new Etcd, [](Etcd* ended) { delete ended; });
  Result<std::unique_ptr<store::etcd::GrpcClient>> client =
      store::etcd::open_grpc_client(etcd->executor, {.endpoints = cluster.etcd,
                                                     .ca_file = cluster.etcd_ca,
                                                     .certificate_file = cluster.etcd_certificate,
                                                     .key_file = cluster.etcd_key,
                                                     .user = cluster.etcd_user,
                                                     .password_file = cluster.etcd_password_file});
  if (!client.ok()) return std::move(client.take_status()).with("cluster");
  etcd->client = client.take();
  return std::unique_ptr<EtcdCalls>(new EtcdCalls(cluster.etcd, std::move(etcd)));
}

EtcdCalls::EtcdCalls(std::vector<std::string> endpoints, EtcdPointer etcd)
    : endpoints_(std::move(endpoints)), etcd_(std::move(etcd)) {}

EtcdCalls::~EtcdCalls() = default;

Result<TransactionDone> EtcdCalls::commit(const Transaction& transaction) {
  return call<TransactionDone>([&](Client& client, Nanos deadline, Done<TransactionDone> done) {
    client.commit(transaction, deadline, std::move(done));
  });
}

Result<LeaseGranted> EtcdCalls::grant(int64_t ttl_s) {
  return call<LeaseGranted>([&](Client& client, Nanos deadline, Done<LeaseGranted> done) {
    client.grant(ttl_s, deadline, std::move(done));
  });
}

Result<LeaseLeft> EtcdCalls::time_to_live(LeaseId lease) {
  return call<LeaseLeft>([&](Client& client, Nanos deadline, Done<LeaseLeft> done) {
    client.time_to_live(lease, deadline, std::move(done));
  });
}

template <typename T>
Result<T> EtcdCalls::call(const Ask<T>& ask) {
  const Nanos end = etcd_->executor.now() + etcd_timeout;
  // Each member gets a try.
  const Nanos each = std::min(
      try_timeout, etcd_timeout / static_cast<Nanos>(std::max<size_t>(endpoints_.size(), 1)));
  for (;;) {
    Outcome<T> outcome = call_once<T>(ask, std::min(etcd_->executor.now() + each, end));
    if (auto* done = std::get_if<T>(&outcome)) return std::move(*done);
    const Failure& failure = std::get<Failure>(outcome);
    const bool may_retry = etcd_->executor.now() + retry_delay < end;
    if (failure.error == CallError::Unknown && may_retry) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(retry_delay));
      continue;
    }
    const std::string_view what =
        failure.error == CallError::Unknown ? "etcd does not answer" : "etcd refuses the request";
    return Status(StatusCode::Io, fmt::format("{}: tried {}; the last failure: {}", what,
                                              fmt::join(endpoints_, ", "), failure.message));
  }
}

template <typename T>
Outcome<T> EtcdCalls::call_once(const Ask<T>& ask, Nanos deadline) {
  std::promise<Outcome<T>> answered;
  etcd_->executor.post([&] {
    ask(*etcd_->client, deadline,
        [&](Outcome<T> outcome) { answered.set_value(std::move(outcome)); });
  });
  return answered.get_future().get();
}

std::vector<Outcome<MemberStatus>> EtcdCalls::member_statuses() {
  std::vector<Outcome<MemberStatus>> statuses(endpoints_.size());
  size_t left = statuses.size();
  std::promise<void> answered;
  etcd_->executor.post([&] {
    const Nanos deadline = etcd_->executor.now() + try_timeout;
    for (size_t i = 0; i < statuses.size(); ++i) {
      etcd_->client->member_status(i, deadline, [&, i](Outcome<MemberStatus> outcome) {
        statuses[i] = std::move(outcome);
        if (--left == 0) answered.set_value();
      });
    }
  });
  answered.get_future().wait();
  return statuses;
}

}  // namespace perennial::tool
