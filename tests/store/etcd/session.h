#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "store/etcd/grpc_client.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::store::etcd {

// A client with its executor, called from the thread of a test, which waits for each result. A
// result that does not come is a CHECK.
class Session {
 public:
  // How long a call may take that says nothing else.
  static constexpr Nanos patience = 5 * nanos_per_second;

  explicit Session(GrpcClientOptions options, GrpcClientEvents events = {}) {
    Result<std::unique_ptr<GrpcClient>> opened =
        open_grpc_client(executor_, std::move(options), std::move(events));
    CHECK(opened.ok());
    client_ = opened.take();
  }
  explicit Session(std::vector<std::string> endpoints) : Session(with(std::move(endpoints))) {}
  ~Session() { end_client(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  GrpcExecutor& executor() { return executor_; }
  GrpcClient& client() const { return *client_; }
  void end_client() {
    run([this] { drop_client(); });
  }
  // On the executor's thread.
  void drop_client() { client_.reset(); }
  // Runs it on the executor's thread and waits until it has run.
  void run(const std::function<void()>& run) {
    std::promise<void> done;
    executor_.post([&] {
      run();
      done.set_value();
    });
    done.get_future().wait();
  }

  Outcome<Found> get(Get request, Nanos within = patience) {
    return call<Found>(
        [&](Done<Found> done) { client_->get(std::move(request), in(within), std::move(done)); });
  }
  Outcome<TransactionDone> commit(Transaction transaction, Nanos within = patience) {
    return call<TransactionDone>([&](Done<TransactionDone> done) {
      client_->commit(std::move(transaction), in(within), std::move(done));
    });
  }
  Outcome<TransactionDone> put(std::string key, std::string value, LeaseId lease = 0,
                               Nanos within = patience) {
    return commit({.conditions = {},
                   .then = {Put{.key = std::move(key), .value = std::move(value), .lease = lease}},
                   .otherwise = {}},
                  within);
  }
  Outcome<Compacted> compact(Revision revision, Nanos within = patience) {
    return call<Compacted>(
        [&](Done<Compacted> done) { client_->compact(revision, in(within), std::move(done)); });
  }
  Outcome<LeaseGranted> grant(int64_t ttl_s, Nanos within = patience) {
    return call<LeaseGranted>(
        [&](Done<LeaseGranted> done) { client_->grant(ttl_s, in(within), std::move(done)); });
  }
  Outcome<LeaseKept> keep_alive(LeaseId lease, Nanos within = patience) {
    return call<LeaseKept>(
        [&](Done<LeaseKept> done) { client_->keep_alive(lease, in(within), std::move(done)); });
  }
  Outcome<LeaseRevoked> revoke(LeaseId lease, Nanos within = patience) {
    return call<LeaseRevoked>(
        [&](Done<LeaseRevoked> done) { client_->revoke(lease, in(within), std::move(done)); });
  }
  Outcome<MemberStatus> status(size_t member, Nanos within = patience) {
    return call<MemberStatus>([&](Done<MemberStatus> done) {
      client_->member_status(member, in(within), std::move(done));
    });
  }

  Outcome<AlarmDisarmed> disarm(Alarm alarm, Nanos within = patience) {
    return call<AlarmDisarmed>(
        [&](Done<AlarmDisarmed> done) { client_->disarm(alarm, in(within), std::move(done)); });
  }

  // The deadline of a call that begins now.
  Nanos in(Nanos within = patience) const { return executor_.now() + within; }

  // Waits until the first member answers and has a leader.
  void wait_until_ready() {
    const auto is_ready = [&] {
      const auto answer = status(0, nanos_per_second);
      return std::holds_alternative<MemberStatus>(answer) &&
             std::get<MemberStatus>(answer).has_leader;
    };
    wait_for(is_ready);
    wait_for([&] { return std::holds_alternative<Found>(get({.range = {.key = "ready"}})); });
  }
  // Asks every 50 ms. Throws after a minute, so that EtcdCluster shows what etcd has to say.
  static void wait_for(const std::function<bool()>& is_so) {
    for (int tries = 0; !is_so(); ++tries) {
      if (tries == 1'200) throw std::runtime_error("a minute was not enough");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

 private:
  static GrpcClientOptions with(std::vector<std::string> endpoints) {
    GrpcClientOptions options;
    options.endpoints = std::move(endpoints);
    return options;
  }
  template <typename T>
  Outcome<T> call(const std::function<void(Done<T>)>& begin) {
    std::promise<Outcome<T>> answer;
    std::future<Outcome<T>> future = answer.get_future();
    executor_.post(
        [&] { begin([&](Outcome<T> outcome) { answer.set_value(std::move(outcome)); }); });
    CHECK(future.wait_for(std::chrono::minutes(1)) == std::future_status::ready);
    return future.get();
  }

  GrpcExecutor executor_;
  std::unique_ptr<GrpcClient> client_;
};

// What a watch has reported so far. It outlives its watch.
class Reports {
 public:
  std::function<void(WatchReport)> handler() {
    return [this](WatchReport report) {
      const std::lock_guard lock(mutex_);
      reports_.push_back(std::move(report));
      changed_.notify_all();
    };
  }
  // Waits, for a minute at most, until this is so of all reports.
  std::vector<WatchReport> wait_for(
      const std::function<bool(const std::vector<WatchReport>&)>& is_so) {
    std::unique_lock lock(mutex_);
    CHECK(changed_.wait_for(lock, std::chrono::minutes(1), [&] { return is_so(reports_); }));
    return reports_;
  }
  WatchEnded wait_for_end() {
    return std::get<WatchEnded>(wait_for([](const std::vector<WatchReport>& all) {
                                  return !all.empty() &&
                                         std::holds_alternative<WatchEnded>(all.back());
                                }).back());
  }
  // Waits until there are so many events.
  std::vector<WatchEvents> wait_for_events(size_t count) {
    const auto reports = wait_for([&](const std::vector<WatchReport>& all) {
      size_t seen = 0;
      for (const WatchReport& one : all)
        if (const auto* events = std::get_if<WatchEvents>(&one)) seen += events->events.size();
      return seen >= count;
    });
    std::vector<WatchEvents> with_events;
    for (const WatchReport& one : reports) {
      const auto* const events = std::get_if<WatchEvents>(&one);
      CHECK(events != nullptr);
      if (!events->events.empty()) with_events.push_back(*events);
    }
    return with_events;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<WatchReport> reports_;
};

// "ok", or the name of the error.
template <typename T>
std::string result_of(const Outcome<T>& outcome) {
  const Failure* const failure = std::get_if<Failure>(&outcome);
  if (failure == nullptr) return "ok";
  return std::string(name_of(failure->error));
}

}  // namespace perennial::store::etcd
