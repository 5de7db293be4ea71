#include "cmd/perenniald/net/threads/mailbox.h"

#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>

#include "cmd/perenniald/net/threads/waker.h"

namespace perennial::perenniald {
namespace {

struct Item {
  uint64_t number = 0;
  size_t bytes = 0;
};

void add(Mail<Item>& mail, uint64_t number, const std::string& bytes) {
  mail.items.push_back({.number = number, .bytes = bytes.size()});
  mail.bytes += bytes;
}

TEST(Mailbox, WhatIsPostedTwiceIsTakenOnceInOrder) {
  Mailbox<Item> box;
  Mail<Item> in;
  Mail<Item> out;
  EXPECT_FALSE(box.take(out));
  EXPECT_FALSE(box.has_mail());
  box.post(in);  // Nothing.
  EXPECT_FALSE(box.has_mail());
  add(in, 1, "one");
  box.post(in);
  EXPECT_TRUE(in.empty());
  add(in, 2, "");
  add(in, 3, "three");
  box.post(in);
  EXPECT_TRUE(box.has_mail());
  EXPECT_EQ(box.bytes_waiting(), 8 + 3 * sizeof(Item));
  ASSERT_TRUE(box.take(out));
  EXPECT_EQ(box.bytes_waiting(), 0u);
  ASSERT_EQ(out.items.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(out.items[i].number, i + 1);
  EXPECT_EQ(out.bytes, "onethree");
  out.clear();
  EXPECT_FALSE(box.take(out));
}

// A burst does not hold its memory for ever.
TEST(Mailbox, MailThatIsClearedKeepsALittleMemory) {
  Mail<Item> mail;
  add(mail, 1, std::string(8 << 20, 'x'));
  mail.clear();
  EXPECT_LE(mail.bytes.capacity(), size_t{1} << 20);
  EXPECT_TRUE(mail.empty());
}

// The reader sleeps whenever there is nothing, and nothing is lost or out of order. A wake-up that
// was missed would end in the time limit of poll().
TEST(Mailbox, NoWakeUpIsMissed) {
  constexpr uint64_t count = 200'000;
  Mailbox<Item> box;
  Waker waker;
  std::thread writer([&] {
    Mail<Item> mail;
    for (uint64_t number = 1; number <= count; ++number) {
      add(mail, number, std::to_string(number));
      if (number % 3 == 0 && number != count) continue;
      box.post(mail);
      waker.wake();
    }
  });
  Mail<Item> mail;
  uint64_t last = 0;
  while (last < count) {
    waker.going_to_sleep();
    if (!box.has_mail()) {
      pollfd fd = {.fd = waker.fd(), .events = POLLIN, .revents = 0};
      constexpr int long_ms = 20'000;
      if (::poll(&fd, 1, long_ms) == 0) {
        ADD_FAILURE() << "nobody has woken the reader after " << last;
        break;
      }
      waker.drain();
    }
    waker.is_awake();
    if (!box.take(mail)) continue;
    size_t at = 0;
    for (const Item& item : mail.items) {
      EXPECT_EQ(item.number, ++last);
      EXPECT_EQ(mail.bytes.substr(at, item.bytes), std::to_string(item.number));
      at += item.bytes;
    }
    mail.clear();
  }
  writer.join();
}

}  // namespace
}  // namespace perennial::perenniald
