#include "engine/types/status.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(Status, IsOkUnlessItHasAnErrorCode) {
  EXPECT_TRUE(Status().ok());
  EXPECT_FALSE(Status(StatusCode::Io, "read failed").ok());
}

TEST(Status, NamesWhatWasBeingDone) {
  Status status = Status(StatusCode::Io, "read failed").with("open x").with("start");
  EXPECT_EQ(status.message(), "start: open x: read failed");
  EXPECT_EQ(status.code(), StatusCode::Io);
  EXPECT_TRUE(Status().with("start").ok());
  EXPECT_EQ(Status().with("start").message(), "");
}

TEST(Result, HoldsAValueOrAStatus) {
  Result<std::string> value = std::string("x");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value.take(), "x");
  Result<std::string> failed = Status(StatusCode::NotFound, "no x");
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.status().message(), "no x");
}

TEST(CheckDeathTest, NamesPlaceAndCondition) {
  EXPECT_DEATH(CHECK(1 == 2), "status_test.cc.*1 == 2");
}

}  // namespace
}  // namespace perennial
