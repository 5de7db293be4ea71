#include "engine/types/body.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(Body, GrowsAsBytesArriveAndNotBefore) {
  constexpr size_t announced = 1 << 30;
  Body body;
  body.append(std::string(10, 'x'), announced);
  EXPECT_EQ(body.view(), std::string(10, 'x'));
  EXPECT_LE(body.capacity(), size_t{64} << 10);
}

TEST(Body, TakesSmallOnesWhole) {
  Body body;
  body.append(std::string(1, 'x'), 1000);
  EXPECT_EQ(body.capacity(), 1000u);
}

TEST(Body, KeepsItsBytesInAnySplit) {
  const std::string text(300'000, 'y');
  Body body;
  for (size_t at = 0; at < text.size(); at += 7919) {
    body.append(std::string_view(text).substr(at, 7919), text.size());
  }
  EXPECT_EQ(body.view(), text);
  EXPECT_EQ(body.capacity(), text.size());
}

TEST(Body, MovesWithoutCopying) {
  Body body("hello");
  const char* const bytes = body.view().data();
  Body moved(std::move(body));
  EXPECT_EQ(moved.view().data(), bytes);
  body = std::move(moved);
  EXPECT_EQ(body.view(), "hello");
}

}  // namespace
}  // namespace perennial
