#include "cmd/perenniald/tls/ticket_keys.h"

#include <atomic>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos hour = TicketKeys::key_time;

TEST(TicketKeys, AKeyIsReplacedAfterAnHourAndKeptForAnother) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current().key;
  keys.rotate(2 * hour - 1);
  EXPECT_EQ(keys.current().key.name, first.name);
  keys.rotate(2 * hour);
  const TicketKeys::Key second = keys.current().key;
  EXPECT_NE(second.name, first.name);
  EXPECT_NE(second.cipher, first.cipher);
  const std::optional<TicketKeys::Copy> kept = keys.find(first.name.data());
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->key.mac, first.mac);
  EXPECT_FALSE(kept->is_current);
  const std::optional<TicketKeys::Copy> used = keys.find(second.name.data());
  ASSERT_TRUE(used);
  EXPECT_EQ(used->key.mac, second.mac);
  EXPECT_TRUE(used->is_current);
  keys.rotate(3 * hour);
  EXPECT_FALSE(keys.find(first.name.data()));
  EXPECT_TRUE(keys.find(second.name.data()));
}

TEST(TicketKeys, AKeyThatIsTwoHoursOldIsNotKept) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current().key;
  keys.rotate(3 * hour);
  EXPECT_FALSE(keys.find(first.name.data()));
}

TEST(TicketKeys, ARenewalForgetsAllKeys) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current().key;
  keys.rotate(2 * hour);
  const TicketKeys::Key second = keys.current().key;
  keys.renew(2 * hour);
  EXPECT_FALSE(keys.find(first.name.data()));
  EXPECT_FALSE(keys.find(second.name.data()));
  EXPECT_TRUE(keys.find(keys.current().key.name.data()));
}

TEST(TicketKeys, AreMadeWhileOtherThreadsUseThem) {
  TicketKeys keys;
  keys.rotate(hour);
  std::atomic<bool> is_done = false;
  std::thread handshakes([&] {
    while (!is_done) {
      const TicketKeys::Copy current = keys.current();
      const std::optional<TicketKeys::Copy> found = keys.find(current.key.name.data());
      if (!found) continue;  // It has gone meanwhile.
      EXPECT_EQ(found->key.cipher, current.key.cipher);
    }
  });
  for (Nanos time = 2 * hour; time < 2'000 * hour; time += hour) keys.rotate(time);
  is_done = true;
  handshakes.join();
}

}  // namespace
}  // namespace perennial::perenniald
