#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// An etcd and two clients of it, for ClientContract. All runs on the thread of the test.
class ContractHarness {
 public:
  virtual ~ContractHarness() = default;

  virtual Client& client(size_t number) = 0;  // 0 or 1.
  virtual Executor& executor() = 0;           // Of both clients.
  // Runs the executor until `done` returns true or the time `limit` is over. Returns whether it is
  // done.
  virtual bool run_until(const std::function<bool()>& done, Nanos limit) = 0;
};

struct ContractCase {
  std::string name;
  std::function<std::unique_ptr<ContractHarness>()> make;
};
inline std::ostream& operator<<(std::ostream& out, const ContractCase& one) {
  return out << one.name;
}

// What every Client does, whatever is behind it; the tests are in client_contract.cc. A binary that
// compiles that file runs them on its own client:
//
//   INSTANTIATE_TEST_SUITE_P(Fake, ClientContract, testing::Values(ContractCase{...}),
//                            contract_case_name);
//
// They use keys that begin with "contract/", compact the history, and take revisions from what they
// find, so that they also run one after another on one real etcd.
class ClientContract : public testing::TestWithParam<ContractCase> {
 protected:
  void SetUp() override;

  Client& client(size_t number = 0) { return harness_->client(number); }
  Nanos deadline() { return harness_->executor().now() + 5 * nanos_per_second; }
  bool run_until(const std::function<bool()>& done);
  void run_for(Nanos time);

  // Calls `start` with a function that takes the outcome, and waits for it.
  template <typename T>
  Outcome<T> wait(const std::function<void(Done<T>)>& start) {
    std::optional<Outcome<T>> outcome;
    start([&](Outcome<T> result) {
      EXPECT_FALSE(outcome.has_value()) << "called twice";
      outcome = std::move(result);
    });
    EXPECT_FALSE(outcome.has_value()) << "called inside of the call";
    EXPECT_TRUE(run_until([&] { return outcome.has_value(); }));
    return outcome.value_or(Failure{CallError::Unknown, "never answered"});
  }
  Outcome<TransactionDone> commit(Transaction transaction);
  Outcome<Found> get(Get request);
  Outcome<Compacted> compact(Revision revision);
  Outcome<LeaseGranted> grant(int64_t ttl_s);
  Outcome<LeaseKept> keep_alive(LeaseId lease);
  Outcome<LeaseRevoked> revoke(LeaseId lease);
  // In seconds.
  int64_t time_to_live(LeaseId lease);

  // These fail the test unless they succeed.
  Revision put(const std::string& key, const std::string& value, LeaseId lease = 0);
  Revision remove(const std::string& key);
  LeaseId granted(int64_t ttl_s);
  Revision revision();
  // All keys with their values, as in "a=1 b=2".
  std::string content();

 private:
  std::unique_ptr<ContractHarness> harness_;
};

std::string contract_case_name(const testing::TestParamInfo<ContractCase>& info);

}  // namespace perennial::store::etcd
