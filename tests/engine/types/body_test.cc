#include "engine/types/body.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(Body, GrowsOnlyAsBytesArrive) {
  constexpr size_t announced = 1 << 30;
  Body body;
  body.append(std::string(10, 'x'), announced);
  EXPECT_EQ(body.view(), std::string(10, 'x'));
  EXPECT_LE(body.capacity(), size_t{64} << 10);
}

TEST(Body, AllocatesASmallBodyAtOnce) {
  Body body;
  body.append(std::string(1, 'x'), 1000);
  EXPECT_EQ(body.capacity(), 1000u);
}

// The sizes are such that a body uses each kind of memory as it grows.
TEST(Body, KeepsItsBytesWhenItGrowsInPieces) {
  for (const size_t size : {300'000, 3'000'000, 30'000'000}) {
    std::string text;
    for (size_t i = 0; text.size() < size; ++i) text += std::to_string(i);
    Body body;
    for (size_t at = 0; at < text.size(); at += 79'190) {
      body.append(std::string_view(text).substr(at, 79'190), text.size());
    }
    EXPECT_TRUE(body.view() == text) << size;
    EXPECT_EQ(body.capacity(), text.size());
  }
}

TEST(Body, MovesWithoutCopying) {
  Body body("hello");
  const char* const bytes = body.view().data();
  Body moved(std::move(body));
  EXPECT_EQ(moved.view().data(), bytes);
  body = std::move(moved);
  EXPECT_EQ(body.view(), "hello");
}

TEST(Body, IsSharedWithoutCopying) {
  for (const size_t size : {5, 5'000'000}) {
    const std::string text(size, 'z');
    Body body(text);
    Body other = body.share();
    EXPECT_EQ(other.view().data(), body.view().data());
    body = Body("gone");
    EXPECT_TRUE(other.view() == text);
    body = other.share();
    other = Body();
    EXPECT_TRUE(body.view() == text);
  }
  EXPECT_EQ(Body().share().view(), "");
}

TEST(BodyDeathTest, DoesNotGrowWhileItIsShared) {
  Body body("a");
  const Body other = body.share();
  EXPECT_DEATH(body.append(std::string_view("b"), 2), "shared");
}

TEST(Body, GrowsAgainWhenItIsNoLongerShared) {
  Body body("a");
  { const Body other = body.share(); }
  body.append(std::string_view("b"), 2);
  EXPECT_EQ(body.view(), "ab");
}

}  // namespace
}  // namespace perennial
