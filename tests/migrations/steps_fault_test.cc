#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>

#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <unistd.h>

#include "store/checkpoint/checkpoint.h"
#include "store/reader.h"
#include "tests/migrations/rename_family.h"
#include "tests/migrations/widen_rows.h"
#include "tests/store/child.h"
#include "tests/store/temp_dir.h"
#include "tests/support/fault_fs.h"
#include "tests/support/long_form.h"
#include "tests/support/seed.h"

// A migration that is killed or meets a full disk at any of its file calls, and is run again, gives
// the same result as one without a fault. All runs are in child processes: child.h.
namespace perennial::migrations {
namespace {

namespace fs = std::filesystem;
using store::ChildEnd;
using store::Pipe;
using store::run_child;
using support::FaultFs;

constexpr int exit_killed = 99;

struct FaultCase {
  const char* name;
  const char* from;  // The golden directory.
  Step step;
  std::span<const store::FamilyNames> families;
  // Returns the rows after the step, made from those before the step.
  std::string (*moved)(const std::string& rows);
};

void PrintTo(const FaultCase& fault, std::ostream* out) {
  *out << fault.name;
}

class MigrationFault : public testing::TestWithParam<FaultCase> {
 protected:
  MigrationFault() : original_(std::string(GOLDEN_DIR) + "/" + GetParam().from) {
    const ChildEnd end = run_child([&](const Pipe& pipe) {
      fs::copy(original_, dir_.data_dir(), fs::copy_options::recursive);
      const std::string rows = GetParam().moved(raw_rows(dir_.data_dir()));
      pipe.send_bytes(rows.data(), rows.size());
    });
    wanted_ = end.sent;
  }

  static Migration how(const std::string& data_dir, Nanos now, rocksdb::Env* env) {
    return {.data_dir = data_dir,
            .steps = {GetParam().step},
            .to = GetParam().step.to,
            .families = GetParam().families,
            .now = now * nanos_per_second,
            .server_version = "0.2.0",
            .env = env};
  }

  // Runs a migration with the faults of `plan`, and then one without faults. Returns what is wrong,
  // or an empty string.
  std::string run(const std::function<void(FaultFs&)>& plan, bool& fired) {
    const store::TempDir dir;
    fs::copy(original_, dir.data_dir(), fs::copy_options::recursive);
    const ChildEnd end = run_child([&](const Pipe& pipe) {
      const auto fs = std::make_shared<FaultFs>(rocksdb::FileSystem::Default());
      const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(fs);
      plan(*fs);
      const auto migrated = migrate(how(dir.data_dir(), 1, env.get()));
      pipe.send(fs->fired());
      ::_exit(migrated.ok() ? 0 : 1);
    });
    // Some errors in DB::Open make RocksDB abort. An abort there is judged like a refusal.
    const bool is_killed = end.exit_code == exit_killed || end.signal == SIGABRT;
    if (end.signal != 0 && !is_killed) return "signal " + std::to_string(end.signal);
    fired = is_killed || end.sent.find('\1') != std::string::npos;
    const ChildEnd again = run_child([&](const Pipe& pipe) {
      const std::string problem = judge(dir.data_dir());
      pipe.send_bytes(problem.data(), problem.size());
    });
    return again.signal == 0 ? again.sent : "the second run died";
  }

  // A tool of the old format must read the directory or name its format, and must not report
  // damage. Returns what is wrong, or an empty string.
  static std::string read(const std::string& data_dir) {
    const auto reader = store::Reader::open({.path = data_dir});
    const bool is_named = reader.ok() || reader.status().code() == StatusCode::Unsupported;
    return is_named ? "" : "a reader: " + reader.status().message();
  }

  std::string judge(const std::string& data_dir) const {
    const std::string problem = read(data_dir);
    if (!problem.empty()) return problem;
    const auto migrated = migrate(how(data_dir, 2, nullptr));
    if (!migrated.ok()) return migrated.status().message();
    if (raw_rows(data_dir) != wanted_) return "the rows are others";
    const auto checkpoints = store::list_checkpoints(data_dir + "/checkpoints");
    if (!checkpoints.ok()) return checkpoints.status().message();
    size_t good = 0;
    for (const store::CheckpointEntry& entry : *checkpoints) {
      const auto verified = store::verify_checkpoint(entry.path);
      if (verified.ok() && verified->format == GetParam().step.from) ++good;
    }
    return good > 0 ? "" : "there is no good checkpoint of before";
  }

  // Each run of the test has calls of its own: the seed says with which one it begins.
  void run_all(uint64_t usual_step, const std::function<void(FaultFs&, uint64_t n)>& plan) {
    const uint64_t step = support::by_form<uint64_t>(usual_step, 1);
    bool fired = true;
    uint64_t calls = support::seed() % step;
    for (; fired; calls += step) {
      ASSERT_EQ(run([&](FaultFs& fs) { plan(fs, calls); }, fired), "") << "call " << calls;
      ASSERT_LT(calls, 2000U) << "it never ends";
    }
    std::printf("%llu calls\n", static_cast<unsigned long long>(calls));
  }

  const store::TempDir dir_;
  const std::string original_;
  std::string wanted_;
};

TEST_P(MigrationFault, KilledAtAnyCallGivesTheSameResultWhenRunAgain) {
  run_all(5, [](FaultFs& fs, uint64_t n) { fs.before_nth(n, [] { ::_exit(exit_killed); }); });
}

TEST_P(MigrationFault, DiskFullAtAnyCallGivesTheSameResultWhenRunAgain) {
  // RocksDB retries some calls for a while, which makes a run longer. So fewer calls are tested.
  run_all(11,
          [](FaultFs& fs, uint64_t n) { fs.fail_nth(n, rocksdb::IOStatus::NoSpace("injected")); });
}

std::string in_format_2(const std::string& rows) {
  return in_format(2, rows);
}

INSTANTIATE_TEST_SUITE_P(Steps, MigrationFault,
                         testing::Values(FaultCase{"keys", "format_1/killed", add_keys_step(),
                                                   store::format_families, in_format_2},
                                         FaultCase{"killed", "format_5/killed", widen_rows_step(),
                                                   store::format_families, widened},
                                         FaultCase{"families", "format_5/killed",
                                                   rename_family_step(), renamed_families(),
                                                   renamed}),
                         [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::migrations
