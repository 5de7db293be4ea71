// The contract of a client of etcd, on the real client and a real etcd.

#include <array>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/store/etcd/client_contract.h"
#include "tests/store/etcd/etcd_process.h"
#include "tests/store/etcd/session.h"

namespace perennial::store::etcd {
namespace {

// What the executor's thread has for the thread of the test.
class Answers {
 public:
  void push(std::function<void()> answer) {
    const std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    pushed_.notify_one();
  }
  // Runs answers until `done` returns true or the time is over. Returns whether it is done.
  bool run_until(const std::function<bool()>& done, Nanos limit) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(limit);
    while (!done()) {
      std::unique_lock lock(mutex_);
      if (!pushed_.wait_until(lock, end, [this] { return !answers_.empty(); })) return false;
      const std::function<void()> answer = std::move(answers_.front());
      answers_.pop_front();
      lock.unlock();
      answer();
    }
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable pushed_;
  std::deque<std::function<void()>> answers_;
};

// Passes the calls of the test's thread on to a client on the executor's thread, and the answers
// back. The client ends on that thread.
class OtherThreadsClient final : public Client {
 public:
  OtherThreadsClient(const std::vector<std::string>& endpoints, Answers& answers)
      : session_(endpoints), answers_(answers) {
    session_.wait_until_ready();
  }

  void get(Get request, Nanos deadline, Done<Found> done) override {
    call(&Client::get, std::move(request), deadline, std::move(done));
  }
  void commit(Transaction transaction, Nanos deadline, Done<TransactionDone> done) override {
    call(&Client::commit, std::move(transaction), deadline, std::move(done));
  }
  void compact(Revision revision, Nanos deadline, Done<Compacted> done) override {
    call(&Client::compact, revision, deadline, std::move(done));
  }
  void grant(int64_t ttl_s, Nanos deadline, Done<LeaseGranted> done) override {
    call(&Client::grant, ttl_s, deadline, std::move(done));
  }
  void keep_alive(LeaseId lease, Nanos deadline, Done<LeaseKept> done) override {
    call(&Client::keep_alive, lease, deadline, std::move(done));
  }
  void revoke(LeaseId lease, Nanos deadline, Done<LeaseRevoked> done) override {
    call(&Client::revoke, lease, deadline, std::move(done));
  }
  void time_to_live(LeaseId lease, Nanos deadline, Done<LeaseLeft> done) override {
    call(&Client::time_to_live, lease, deadline, std::move(done));
  }
  void member_status(size_t member, Nanos deadline, Done<MemberStatus> done) override {
    call(&Client::member_status, member, deadline, std::move(done));
  }
  void disarm(Alarm alarm, Nanos deadline, Done<AlarmDisarmed> done) override {
    call(&Client::disarm, alarm, deadline, std::move(done));
  }
  size_t members() const override { return session_.client().members(); }
  void prefer(size_t member) override {
    session_.run([&] { session_.client().prefer(member); });
  }

  WatchId watch(KeyRange range, Revision from, std::function<void(WatchReport)> report) override {
    const WatchId id = ++last_watch_;
    reports_[id] = std::move(report);
    session_.run([&] {
      real_[id] = session_.client().watch(std::move(range), from, [this, id](WatchReport seen) {
        answers_.push([this, id, seen = std::move(seen)] { pass_on(id, seen); });
      });
    });
    return id;
  }
  void cancel_watch(WatchId watch) override {
    reports_.erase(watch);
    session_.run([&] { session_.client().cancel_watch(real_.at(watch)); });
  }

  Executor& executor() { return session_.executor(); }

 private:
  template <typename Request, typename T>
  void call(void (Client::*function)(Request, Nanos, Done<T>), Request request, Nanos deadline,
            Done<T> done) {
    session_.executor().post([=, this, request = std::move(request), done = std::move(done)] {
      (session_.client().*function)(request, deadline, [this, done](Outcome<T> outcome) {
        answers_.push([done, outcome = std::move(outcome)] { done(outcome); });
      });
    });
  }
  void pass_on(WatchId watch, const WatchReport& seen) {
    const auto found = reports_.find(watch);
    if (found == reports_.end()) return;
    const auto report = found->second;  // It may cancel its own watch.
    report(seen);
  }

  Session session_;
  Answers& answers_;
  WatchId last_watch_ = 0;
  std::map<WatchId, std::function<void(WatchReport)>> reports_;
  std::map<WatchId, WatchId> real_;  // Of the executor's thread.
};

class GrpcHarness final : public ContractHarness {
 public:
  explicit GrpcHarness(const EtcdCluster& etcd) {
    for (auto& client : clients_) {
      client = std::make_unique<OtherThreadsClient>(etcd.endpoints(), answers_);
    }
  }
  Client& client(size_t number) override { return *clients_.at(number); }
  Executor& executor() override { return clients_[0]->executor(); }
  bool run_until(const std::function<bool()>& done, Nanos limit) override {
    return answers_.run_until(done, limit);
  }

 private:
  Answers answers_;
  std::array<std::unique_ptr<OtherThreadsClient>, 2> clients_;
};

// One member, which elects nobody in the middle of a test. It is the same for all tests, and ends
// with the process.
std::unique_ptr<ContractHarness> one_member() {
  static const EtcdCluster etcd(1);
  return std::make_unique<GrpcHarness>(etcd);
}

std::vector<ContractCase> cases() {
  if (!etcd_is_present()) return {};
  return {ContractCase{"OneMember", one_member}};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ClientContract);
INSTANTIATE_TEST_SUITE_P(Grpc, ClientContract, testing::ValuesIn(cases()), contract_case_name);

}  // namespace
}  // namespace perennial::store::etcd
