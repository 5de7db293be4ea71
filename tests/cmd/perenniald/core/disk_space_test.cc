// A put whose body does not fit the free disk space is refused before its body has arrived.

#include <string>

#include <gtest/gtest.h>

#include "tests/support/core_harness.h"

namespace perennial::core {
namespace {

using support::CoreHarness;

constexpr size_t mib = 1 << 20;

std::string header(size_t bytes) {
  return "put 0 0 60 " + std::to_string(bytes) + "\r\n";
}

std::string put(size_t bytes) {
  return header(bytes) + std::string(bytes, 'x') + "\r\n";
}

class FreeDiskSpace : public testing::Test {
 protected:
  FreeDiskSpace() : conn_(harness_.open()) {}
  void set_left(uint64_t bytes, uint64_t slack_bytes = 0) {
    harness_.core().on_disk_left({.bytes = bytes, .slack_bytes = slack_bytes});
  }
  std::string ask(const std::string& bytes) {
    harness_.send(conn_, bytes);
    return harness_.receive(conn_);
  }

  CoreHarness harness_{{.job_bytes_max = 64 << 20}};
  const ConnId conn_;
};

TEST_F(FreeDiskSpace, TheLargestBodyIsAThirdOfIt) {
  set_left(12 * mib);
  EXPECT_EQ(ask(put(4 * mib)), "INSERTED 1\r\n");
  EXPECT_EQ(ask(put(4 * mib + 1)), "OUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask("peek 1\r\n").substr(0, 8), "FOUND 1 ");
  EXPECT_EQ(ask(put(1)), "INSERTED 3\r\n");
}

TEST_F(FreeDiskSpace, ABodyThatDoesNotFitIsNotCollected) {
  set_left(12 * mib);
  const size_t before = harness_.core().memory_bytes();
  EXPECT_EQ(ask(header(8 * mib)), "");
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ask(std::string(mib, 'x')), "");
  EXPECT_LE(harness_.core().memory_bytes(), before + 1000);
  EXPECT_EQ(ask("\r\n"), "OUT_OF_MEMORY\r\n");
}

TEST_F(FreeDiskSpace, PendingBatchesCount) {
  set_left(24 * mib);
  harness_.set_committing(false);
  EXPECT_EQ(ask(put(5 * mib)), "");
  EXPECT_EQ(ask(put(5 * mib)), "");
  harness_.set_committing(true);
  harness_.commit();
  EXPECT_EQ(harness_.receive(conn_), "INSERTED 1\r\nOUT_OF_MEMORY\r\n");
  EXPECT_EQ(ask(put(5 * mib)), "INSERTED 3\r\n");
}

// The low-water mark leaves free space for small bodies: at the mark itself they are accepted.
TEST_F(FreeDiskSpace, SmallBodiesAreAcceptedDownToTheMark) {
  set_left(0, 4 * mib);
  EXPECT_EQ(ask(put(mib)), "INSERTED 1\r\n");
  EXPECT_EQ(ask(put(mib + 1)), "OUT_OF_MEMORY\r\n");
  harness_.set_accepts_puts(false);
  EXPECT_EQ(ask(put(1)), "OUT_OF_MEMORY\r\n");
}

TEST_F(FreeDiskSpace, WithoutALowWaterMarkThereIsNoLimit) {
  harness_.core().on_disk_left(store::DiskLeft());
  EXPECT_EQ(ask(put(20 * mib)), "INSERTED 1\r\n");
}

}  // namespace
}  // namespace perennial::core
