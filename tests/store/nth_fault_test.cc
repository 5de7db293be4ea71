#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/io_status.h>

#include "tests/store/lives.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// P4: if any file call fails, the process ends before it answers for work that is not saved, and
// the next start finds what was answered.
namespace perennial::store {
namespace {

struct FaultCase {
  const char* name;
  rocksdb::IOStatus status;
};

void PrintTo(const FaultCase& fault, std::ostream* out) {
  *out << fault.name;
}

class NthFault : public testing::TestWithParam<FaultCase> {};

// Runs a store whose n-th file call fails. Returns what is wrong, and whether that call was
// reached.
std::string run_with_fault_at(uint64_t n, const rocksdb::IOStatus& status, bool& fired) {
  const TempDir dir;
  StoreModel model(support::seed());
  const Life life = {.data_dir = dir.data_dir(),
                     .durability = Durability::Commit,
                     .batches = 12,
                     .plan = [&](support::FaultFs& fs) { fs.fail_nth(n, status); }};
  const ChildEnd end = live(life, model);
  const bool is_clean = end.signal == 0 && end.exit_code == 0;
  fired = !is_clean || last_progress(end).fault_fired;
  const Found found = examine(dir.data_dir(), model);
  std::string problem = judge(life, end, found, model);
  if (!problem.empty() || !is_clean) return problem;
  return model.index() == static_cast<BatchIndex>(life.batches) ? "" : "a batch is missing";
}

TEST_P(NthFault, LosesNothingThatWasAnswered) {
  bool fired = true;
  uint64_t calls = 0;
  const uint64_t step = support::by_form(7, 1);
  for (uint64_t n = support::seed() % step; fired; n += step) {
    ASSERT_EQ(run_with_fault_at(n, GetParam().status, fired), "") << "call " << n;
    ASSERT_LT(n, 2000U) << "it never ends";
    calls = n;
  }
  std::printf("%llu calls\n", static_cast<unsigned long long>(calls));
}

INSTANTIATE_TEST_SUITE_P(Store, NthFault,
                         testing::Values(FaultCase{"Io", rocksdb::IOStatus::IOError("injected")},
                                         FaultCase{"NoSpace",
                                                   rocksdb::IOStatus::NoSpace("injected")}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
