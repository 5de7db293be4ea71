// A real server under a hundred connections that send every command, for as long as requested, with
// kills, stops and full disks in between. Every answer is compared with a ledger of all answers
// (P1, P2, P3, P4, P8). Memory, descriptors and disk must be the same at the end as at the
// beginning.
// soak_test [--seconds N] [--seed N]
// The commands follow from the seed, their timing does not. Without the right to mount there is no
// small disk, and kills replace the tests that would fill it.

#include <filesystem>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "tests/disk_full/small_disk.h"
#include "tests/soak/load.h"
#include "tests/soak/readings.h"
#include "tests/soak/walk.h"
#include "tests/support/seed.h"

namespace perennial::soak {
namespace {

constexpr uint64_t mib = 1 << 20;
constexpr uint64_t disk_bytes = 1'024 * mib;
constexpr size_t connections_count = 100;
constexpr size_t tubes_count = 40;
constexpr Millis heal_wait_ms = 60'000;
constexpr int disk_full_code = 75;
// B9: the disk space that a drained queue may use.
constexpr uint64_t drained_disk_bytes_max = 64 * mib;
// Memory that does not belong to jobs and fills in the first minutes: the write buffers of the
// store (db_write_buffer_size) and the body cache. Both have a limit.
constexpr uint64_t buffers_bytes_max = (192 + 64) * mib;
uint64_t seconds = 15;
bool has_own_mounts = false;

enum class Disturbance : uint8_t { Kill, LowDisk, Stop, FullDisk };

class Soak : public testing::Test {
 protected:
  void SetUp() override {
    if (has_own_mounts) disk_.emplace(disk_bytes);
    support::ServerSetup setup;
    if (disk_) setup = {.flags = {"-b", disk_->path() + "/data"}, .data_dir = false};
    server_.emplace(setup);
    data_dir_ = disk_ ? disk_->path() + "/data" : server_->data_dir();
  }

  void must(const Status& status) {
    ASSERT_TRUE(status.ok()) << status.message() << "\nseed " << support::seed()
                             << "\nserver said:\n"
                             << last_lines(server_->stderr_text());
  }
  static std::string last_lines(const std::string& text) {
    return text.substr(text.size() - std::min<size_t>(text.size(), 3'000));
  }

  // The server has ended. Its last answers are read, and it must restart with every job.
  void come_back() {
    ASSERT_NO_FATAL_FAILURE(must(load_.drain_replies()));
    ASSERT_NO_FATAL_FAILURE(must(server_->start()));
    support::ClientSocket client = server_->connect();
    size_t found = 0;
    ASSERT_NO_FATAL_FAILURE(must(check_all(ledger_, client, found)));
    ASSERT_NO_FATAL_FAILURE(must(load_.open(server_->address())));
    ++restarts_;
  }

  // Runs the load. `may_end` says that the server may end meanwhile.
  void work(Millis ms, bool may_end = false) {
    bool ended = false;
    ASSERT_NO_FATAL_FAILURE(must(load_.run_for(ms, ended)));
    if (!ended) return;
    const Result<support::Ended> how = server_->wait(10'000);
    ASSERT_TRUE(how.ok()) << "a connection was closed by a server that goes on";
    ASSERT_TRUE(may_end && how->code == disk_full_code)
        << "it ended with " << how->code << ", signal " << how->signal << "\n"
        << last_lines(server_->stderr_text());
    ++walls_;
    // The disk may have become full just before space was freed.
    if (is_filled_) disk_->clear();
    is_filled_ = false;
    ASSERT_NO_FATAL_FAILURE(come_back());
  }

  void run_disturbance(Disturbance disturbance) {
    if (!disk_ && (disturbance == Disturbance::LowDisk || disturbance == Disturbance::FullDisk))
      disturbance = Disturbance::Kill;
    if (disturbance == Disturbance::Kill) {
      ASSERT_TRUE(server_->kill_now().ok());
      ASSERT_NO_FATAL_FAILURE(come_back());
      ++kills_;
    } else if (disturbance == Disturbance::Stop) {
      const Result<support::Ended> how = server_->terminate();
      ASSERT_TRUE(how.ok() && how->code == 0) << last_lines(server_->stderr_text());
      ASSERT_NO_FATAL_FAILURE(come_back());
      ++stops_;
    } else {
      ASSERT_NO_FATAL_FAILURE(fill_disk(disturbance));
    }
  }

  // Fills the disk to below the low-water mark, which is a quarter, or completely.
  void fill_disk(Disturbance disturbance) {
    load_.let_puts_be_refused(true);
    disk_->fill_but(disturbance == Disturbance::LowDisk ? disk_bytes * 3 / 16 : 0);
    is_filled_ = true;
    for (int piece = 0; piece < 4 && is_filled_; ++piece) {
      ASSERT_NO_FATAL_FAILURE(work(500, disturbance == Disturbance::FullDisk));
      if (is_filled_ && disturbance == Disturbance::FullDisk) disk_->fill();
    }
    if (is_filled_) disk_->clear();
    is_filled_ = false;
    ASSERT_NO_FATAL_FAILURE(wait_until_healed());
    ++(disturbance == Disturbance::LowDisk ? lows_ : fulls_);
  }

  void wait_until_healed() {
    const Millis end = now_ms() + heal_wait_ms;
    while (read_server(*server_, data_dir_).state != "ok") {
      ASSERT_LT(now_ms(), end) << "the disk is free, and it is not well";
      ASSERT_NO_FATAL_FAILURE(work(200, true));
    }
    // Puts that were refused before may still be in flight.
    ASSERT_NO_FATAL_FAILURE(work(1'000));
    load_.let_puts_be_refused(false);
  }

  void take_reading() {
    Reading reading = read_server(*server_, data_dir_);
    reading.seconds = static_cast<double>(now_ms() - began_) / 1000;
    reading.p99_ms = load_.take_p99_ms();
    readings_.push_back(reading);
  }

  void work_through_spells();
  void drain_and_compare(const Reading& fresh);

  std::optional<disk_full::SmallDisk> disk_;
  std::optional<support::ServerProcess> server_;
  std::string data_dir_;
  JobLedger ledger_{support::seed(), tubes_count};
  Load load_{ledger_, support::seed(), connections_count};
  std::vector<Reading> readings_;
  const Millis began_ = now_ms();
  bool is_filled_ = false;
  unsigned kills_ = 0, stops_ = 0, lows_ = 0, fulls_ = 0, walls_ = 0, restarts_ = 0;
};

// Disturbs the server every twelve seconds, more often in a short run, and with each kind at least
// once. Takes ten readings.
void Soak::work_through_spells() {
  constexpr std::array spells = {Disturbance::Kill, Disturbance::FullDisk, Disturbance::Stop,
                                 Disturbance::LowDisk};
  const Millis length = static_cast<Millis>(seconds) * 1000;
  const Millis between = std::min<Millis>(length / 10, 12'000);
  Millis next_spell = began_ + between;
  Millis next_reading = began_ + length / 10;
  for (size_t turn = 0; turn < spells.size() || now_ms() < began_ + length;) {
    const Millis next = std::min(next_spell, next_reading);
    ASSERT_NO_FATAL_FAILURE(work(std::max<Millis>(next - now_ms(), 1)));
    if (now_ms() >= next_reading) {
      take_reading();
      while (next_reading <= now_ms()) next_reading += length / 10;
    }
    if (now_ms() < next_spell) continue;
    ASSERT_NO_FATAL_FAILURE(run_disturbance(spells[turn++ % spells.size()]));
    next_spell = now_ms() + between;
  }
}

void Soak::drain_and_compare(const Reading& fresh) {
  ASSERT_NO_FATAL_FAILURE(must(load_.finish()));
  size_t drained = 0;
  {
    support::ClientSocket client = server_->connect();
    ASSERT_NO_FATAL_FAILURE(must(drain(ledger_, client, drained)));
  }
  fmt::print("drained {} jobs\n", drained);
  const Millis end = now_ms() + heal_wait_ms;
  Reading last;
  do {
    last = read_server(*server_, data_dir_);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  } while (now_ms() < end &&
           (last.sockets > fresh.sockets || last.disk_bytes > drained_disk_bytes_max));
  last.seconds = static_cast<double>(now_ms() - began_) / 1000;
  last.state = "drained";
  readings_.push_back(last);
  fmt::print("{}", table(readings_));
  EXPECT_LE(last.sockets, fresh.sockets);
  EXPECT_LE(last.disk_bytes, drained_disk_bytes_max);
  EXPECT_LE(last.resident_bytes, readings_.front().resident_bytes + buffers_bytes_max);
  EXPECT_EQ(server_->terminate()->code, 0) << last_lines(server_->stderr_text());
}

TEST_F(Soak, EveryAnswerAgreesWithTheLedger) {
  ASSERT_NO_FATAL_FAILURE(must(server_->start()));
  const Reading fresh = read_server(*server_, data_dir_);
  ASSERT_NO_FATAL_FAILURE(must(load_.open(server_->address())));
  ASSERT_NO_FATAL_FAILURE(work_through_spells());
  ASSERT_NO_FATAL_FAILURE(drain_and_compare(fresh));
  fmt::print(
      "{} answers, {} about a job whose state was known; {} reservations of a job whose time with "
      "another was over; {} kills, {} stops, {} low disks, {} full ones, of which {} ended it; {} "
      "restarts; answers of each command:\n",
      load_.answers(), load_.judged(), load_.expired(), kills_, stops_, lows_, fulls_, walls_,
      restarts_);
  for (size_t verb = 0; verb < verbs_count; ++verb) {
    fmt::print("{} {}, ", verb_name(static_cast<Verb>(verb)), load_.done()[verb]);
    // A command that is never executed would not be tested.
    EXPECT_GT(load_.done()[verb], 0U) << verb_name(static_cast<Verb>(verb));
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace perennial::soak

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::soak::seconds =
      perennial::support::take_number(argc, argv, "--seconds", perennial::soak::seconds);
  perennial::soak::has_own_mounts = perennial::disk_full::enter_own_mounts();
  return RUN_ALL_TESTS();
}
