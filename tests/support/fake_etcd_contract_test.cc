// The contract of a client of etcd, on the model.

#include <array>
#include <memory>

#include "tests/store/etcd/client_contract.h"
#include "tests/support/fake_etcd.h"

namespace perennial::store::etcd {
namespace {

class FakeHarness final : public ContractHarness {
 public:
  explicit FakeHarness(support::FakeEtcd::Options options)
      : time_(options.seed), node_(time_.add_node()), etcd_(time_, options) {
    for (auto& client : clients_) client = etcd_.connect(node_);
  }
  Client& client(size_t number) override { return *clients_.at(number); }
  Executor& executor() override { return node_; }
  bool run_until(const std::function<bool()>& done, Nanos limit) override {
    return time_.run_until(done, limit);
  }

 private:
  support::VirtualTime time_;
  support::VirtualTime::Node& node_;
  support::FakeEtcd etcd_;
  std::array<std::unique_ptr<Client>, 2> clients_;
};

std::unique_ptr<ContractHarness> plain() {
  return std::make_unique<FakeHarness>(support::FakeEtcd::Options{});
}

// What etcd itself may do at any time, and no test may mind.
std::unique_ptr<ContractHarness> slow() {
  support::FakeEtcd::Options options;
  options.faults.request_delay_max = 30 * nanos_per_ms;
  options.faults.answer_delay_max = 30 * nanos_per_ms;
  options.faults.late_reports_per_mille = 300;
  options.faults.report_revisions_max = 1;
  options.members = 5;
  return std::make_unique<FakeHarness>(options);
}

INSTANTIATE_TEST_SUITE_P(Fake, ClientContract,
                         testing::Values(ContractCase{"Plain", plain}, ContractCase{"Slow", slow}),
                         contract_case_name);

}  // namespace
}  // namespace perennial::store::etcd
