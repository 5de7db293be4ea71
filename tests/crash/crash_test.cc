// Kills a real server under load again and again. After each restart nothing that was acknowledged
// may be lost (P1, P2, P3).
// crash_test [--kills N] [--seed N]
// The load follows from the seed, but the moment of a kill does not. A failure prints the seed and
// everything that is known about the job. With BEANSTALKD in the environment, --beanstalkd runs the
// test against beanstalkd. That fails, because its log does not hold the priority of a released
// job.

#include <charconv>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/crash/checker.h"
#include "tests/crash/load.h"
#include "tests/flip/data_blocks.h"
#include "tests/store/temp_dir.h"

namespace perennial::crash {
namespace {

struct Settings {
  int kills = 20;
  uint64_t seed = std::random_device()();
  support::Program program = support::Program::Perenniald;
};
Settings settings;

struct CrashCase {
  const char* name;
  std::vector<std::string> flags;
  int one_kill_in;  // The looser modes run for a fraction of the kills.
};

void PrintTo(const CrashCase& mode, std::ostream* out) {
  *out << mode.name;
}

class Crash : public testing::TestWithParam<CrashCase> {};

uint32_t between(std::minstd_rand& random, uint32_t low, uint32_t high) {
  return low + static_cast<uint32_t>(random() % (high - low));
}

// Restarts the server. Sometimes it is killed during recovery and started once more.
Status restart(support::ServerProcess& server, std::minstd_rand& random) {
  const bool kill_early = random() % 4 == 0;
  if (kill_early) {
    const int early_ms = static_cast<int>(between(random, 1, 60));
    const bool ended_by_itself = server.start_and_wait(early_ms).ok();
    if (ended_by_itself && server.ended().code != support::address_in_use_code)
      return Status(StatusCode::Io, "ended while starting: " + server.stderr_text());
    if (!ended_by_itself)
      if (Result<support::Ended> end = server.kill_now(); !end.ok()) return end.take_status();
  }
  return server.start();
}

// A checkpoint changes nothing of what a restart finds.
Status create_checkpoint(const support::ServerProcess& server) {
  Result<support::ClientSocket> client = support::ClientSocket::connect(server.address());
  if (!client.ok()) return client.take_status();
  const Result<std::string> reply = client->ask("checkpoint\r\n");
  if (!reply.ok()) return reply.status();
  return reply->starts_with("OK ") ? Status() : Status(StatusCode::Io, *reply);
}

Status run_load(support::ServerProcess& server, Load& load, std::minstd_rand& random) {
  if (Status s = load.run_for(static_cast<int>(between(random, 20, 400))); !s.ok()) return s;
  if (settings.program == support::Program::Perenniald && random() % 2 == 0) {
    // The checkpoint that meets a damaged block is not made. Later ones are.
    Status s = create_checkpoint(server);
    const bool has_met_damage =
        load.expects_damage() && s.message().find("checksum mismatch") != std::string::npos;
    if (!s.ok() && !has_met_damage) return std::move(s).with("checkpoint");
  }
  return load.run_for(static_cast<int>(between(random, 1, 300)));
}

Status kill_once(support::ServerProcess& server, Load& load, Checker& checker,
                 std::minstd_rand& random) {
  if (Status s = load.open(server); !s.ok()) return std::move(s).with("open the load");
  Status loaded = run_load(server, load, random);
  if (!loaded.ok()) return std::move(loaded).with("under load");
  if (Result<support::Ended> end = server.kill_now(); !end.ok()) return end.take_status();
  if (Status s = load.drain_replies(); !s.ok()) return std::move(s).with("replies before the kill");
  if (Status s = restart(server, random); !s.ok()) return std::move(s).with("restart");
  return checker.check(server).with("after the crash");
}

TEST_P(Crash, LosesNothingAcknowledged) {
  const int kills = std::max(1, settings.kills / GetParam().one_kill_in);
  fmt::print("seed {} kills {} mode {}\n", settings.seed, kills, GetParam().name);
  std::minstd_rand random(static_cast<uint32_t>(settings.seed));
  support::ServerProcess server({.program = settings.program, .flags = GetParam().flags});
  support::Ledger ledger(settings.seed);
  Load load(ledger, random);
  Checker checker(ledger, settings.program == support::Program::Perenniald);
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  for (int kill = 1; kill <= kills; ++kill) {
    const Status s = kill_once(server, load, checker, random);
    ASSERT_TRUE(s.ok()) << "seed " << settings.seed << ", kill " << kill << ": " << s.message()
                        << "\nserver said:\n"
                        << server.stderr_text();
  }
  fmt::print("{} jobs sent, {} there at the end with {} notes; acknowledged of each verb: {}\n",
             ledger.jobs().size(), checker.found(), checker.notes_found(),
             fmt::join(load.done(), " "));
  // A verb that is never executed would not be tested.
  for (size_t done : load.done()) EXPECT_GT(done, 0U);
}

// ---- One block of bodies is damaged, and the load goes on.
//
// P11. The load is that of the test above, in one mode, without kicks. One bit of a data block of
// bodies is flipped while no server runs; the test knows from the table which jobs those are. Each
// is answered INTERNAL_ERROR and is buried, over kills and starts, while everything else is as
// promised, and nobody is answered so for another job. Blind to: a block that is damaged while the
// server runs, and sectors that cannot be read, for both of which see tests/flip/work_test.cc.

// Flips a bit of a block with a few of these jobs, and marks those. Returns how many they are.
size_t damage_block(const std::string& data_dir, support::Ledger& ledger,
                    std::minstd_rand& random) {
  const std::vector<store::DataBlock> blocks =
      store::data_blocks_of(data_dir, store::Family::Bodies);
  for (size_t tries = 0; tries < 10 * blocks.size(); ++tries) {
    const store::DataBlock& block = blocks[random() % blocks.size()];
    std::vector<support::Job*> jobs;
    for (const std::string& key : block.puts) {
      support::Job* const job = ledger.find(store::decode_job_key(block.family, key).take());
      if (job != nullptr && job->live.exists) jobs.push_back(job);
    }
    if (jobs.empty()) continue;
    for (support::Job* const job : jobs) job->is_damaged = true;
    store::flip_byte(data_dir + "/db/" + block.file, block.offset + random() % block.bytes);
    return jobs.size();
  }
  return 0;
}

Status delete_damaged(const support::ServerProcess& server, support::Ledger& ledger) {
  support::ClientSocket client = server.connect();
  for (support::Job& job : ledger.jobs()) {
    if (!job.is_damaged) continue;
    const Result<std::string> reply = client.ask(fmt::format("delete {}\r\n", job.id));
    if (!reply.ok()) return reply.status();
    if (*reply != "DELETED\r\n") return surprise(job, "cannot be deleted");
    job.live.exists = job.is_damaged = false;
    job.outcomes = {support::Outcome{}};
  }
  return {};
}

TEST(CrashWithADamagedBlock, CostsTheBodiesInTheBlockAndNothingElse) {
  const int kills = std::max(4, settings.kills / 4);
  if (settings.program != support::Program::Perenniald) GTEST_SKIP();
  fmt::print("seed {} kills {}\n", settings.seed, kills);
  std::minstd_rand random(static_cast<uint32_t>(settings.seed));
  support::ServerProcess server({.program = settings.program, .flags = {"-f", "0"}});
  support::Ledger ledger(settings.seed);
  Load load(ledger, random);
  Checker checker(ledger, true);
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  size_t damaged = 0;
  for (int kill = 1; kill <= kills; ++kill) {
    const Status s = kill_once(server, load, checker, random);
    ASSERT_TRUE(s.ok()) << "seed " << settings.seed << ", kill " << kill << ": " << s.message()
                        << "\nserver said:\n"
                        << server.stderr_text();
    if (kill > 1) continue;
    ASSERT_EQ(server.terminate()->code, 0) << server.stderr_text();
    damaged = damage_block(server.data_dir(), ledger, random);
    ASSERT_GT(damaged, 0U) << "no block has a job";
    load.expect_damage();
    ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  }
  const std::string said = server.stderr_text();
  for (const support::Job& job : ledger.jobs()) {
    const bool is_said = said.find(fmt::format("at=body.lost job={}\n", job.id)) != said.npos ||
                         said.find(fmt::format("at=body.lost job={} ", job.id)) != said.npos ||
                         said.find(fmt::format("at=body.damaged job={} ", job.id)) != said.npos;
    EXPECT_EQ(job.is_damaged, is_said && job.id != 0) << job.id;
  }
  const Status deleted = delete_damaged(server, ledger);
  EXPECT_TRUE(deleted.ok()) << deleted.message();
  const Status checked = checker.check(server);
  EXPECT_TRUE(checked.ok()) << checked.message();
  EXPECT_LE(load.damage_met(), damaged * static_cast<size_t>(kills)) << "a reserve buries each";
  fmt::print("{} jobs in the block, met by {} reserves; {} jobs at the end\n", damaged,
             load.damage_met(), checker.found());
}

INSTANTIATE_TEST_SUITE_P(
    Mode, Crash,
    testing::Values(CrashCase{.name = "Commit", .flags = {"-f", "0"}, .one_kill_in = 1},
                    CrashCase{.name = "Interval", .flags = {"-f", "50"}, .one_kill_in = 4},
                    CrashCase{.name = "Never", .flags = {"-F"}, .one_kill_in = 4}),
    [](const testing::TestParamInfo<CrashCase>& param) { return param.param.name; });

bool read_number(std::string_view text, auto& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_arguments(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const std::string_view value = i + 1 < count ? words[i + 1] : "";
    const bool taken = (word == "--kills" && read_number(value, settings.kills)) ||
                       (word == "--seed" && read_number(value, settings.seed));
    if (taken) ++i;
    if (word == "--beanstalkd") settings.program = support::Program::Beanstalkd;
    if (!taken && word != "--beanstalkd") return false;
  }
  return true;
}

}  // namespace
}  // namespace perennial::crash

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!perennial::crash::read_arguments(argc, argv)) {
    fmt::print(stderr, "usage: crash_test [--kills N] [--seed N] [--beanstalkd]\n");
    return 2;
  }
  return RUN_ALL_TESTS();
}
