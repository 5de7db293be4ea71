#include "cmd/perenniald/tls/ticket_keys.h"

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos hour = TicketKeys::key_time;

TEST(TicketKeys, AKeyIsReplacedAfterAnHourAndKeptForAnother) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current();
  keys.rotate(2 * hour - 1);
  EXPECT_EQ(keys.current().name, first.name);
  keys.rotate(2 * hour);
  const TicketKeys::Key second = keys.current();
  EXPECT_NE(second.name, first.name);
  EXPECT_NE(second.cipher, first.cipher);
  ASSERT_NE(keys.find(first.name.data()), nullptr);
  EXPECT_EQ(keys.find(first.name.data())->mac, first.mac);
  EXPECT_EQ(keys.find(second.name.data()), &keys.current());
  keys.rotate(3 * hour);
  EXPECT_EQ(keys.find(first.name.data()), nullptr);
  EXPECT_NE(keys.find(second.name.data()), nullptr);
}

TEST(TicketKeys, AKeyThatIsTwoHoursOldIsNotKept) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current();
  keys.rotate(3 * hour);
  EXPECT_EQ(keys.find(first.name.data()), nullptr);
}

TEST(TicketKeys, ARenewalForgetsAllKeys) {
  TicketKeys keys;
  keys.rotate(hour);
  const TicketKeys::Key first = keys.current();
  keys.rotate(2 * hour);
  const TicketKeys::Key second = keys.current();
  keys.renew(2 * hour);
  EXPECT_EQ(keys.find(first.name.data()), nullptr);
  EXPECT_EQ(keys.find(second.name.data()), nullptr);
  EXPECT_EQ(keys.find(keys.current().name.data()), &keys.current());
}

}  // namespace
}  // namespace perennial::perenniald
