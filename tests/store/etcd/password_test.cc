#include "store/etcd/password.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace perennial::store::etcd {
namespace {

class PasswordTest : public testing::Test {
 protected:
  PasswordTest() { options_.password_file = dir_.path() + "/password"; }

  void write(const std::string& password) {
    std::ofstream(options_.password_file) << password << "\nwhat follows does not count\n";
  }
  std::string next(Nanos now) {
    const Result<std::string> password = password_.next(options_, now);
    return password.ok() ? *password : "none";
  }

  support::TempDir dir_;
  GrpcClientOptions options_;
  Password password_;
};

TEST_F(PasswordTest, IsReadAgainEachTime) {
  EXPECT_EQ(next(0), "none");
  write("old");
  EXPECT_EQ(next(0), "old");
  EXPECT_FALSE(password_.taken("old"));  // Nothing else was known.
  write("new");
  EXPECT_EQ(next(0), "new");
  EXPECT_TRUE(password_.taken("new"));
  EXPECT_FALSE(password_.taken("new"));
}

TEST_F(PasswordTest, WhileTheFileIsAheadOfEtcdTheOneOfBeforeIsShown) {
  write("old");
  EXPECT_EQ(next(0), "old");
  EXPECT_FALSE(password_.taken("old"));
  write("new");
  EXPECT_EQ(next(1), "new");
  EXPECT_TRUE(password_.refused("new", 1));
  EXPECT_EQ(next(1), "old");
  EXPECT_FALSE(password_.taken("old"));
  // etcd has the new one, too.
  const Nanos later = 1 + password_retry_interval;
  EXPECT_EQ(next(later), "new");
  EXPECT_TRUE(password_.taken("new"));
}

TEST_F(PasswordTest, WhileEtcdIsAheadOfTheFileItIsAskedRarely) {
  write("old");
  EXPECT_EQ(next(0), "old");
  EXPECT_FALSE(password_.taken("old"));
  EXPECT_EQ(next(5), "old");
  EXPECT_TRUE(password_.refused("old", 5));
  EXPECT_EQ(next(5), "none");
  EXPECT_EQ(next(5 + password_retry_interval - 1), "none");
  EXPECT_EQ(next(5 + password_retry_interval), "old");
  EXPECT_FALSE(password_.refused("old", 5 + password_retry_interval));  // It was said.
  EXPECT_EQ(next(6 + password_retry_interval), "none");
  // Another one need not wait.
  write("new");
  EXPECT_EQ(next(6 + password_retry_interval), "new");
  EXPECT_TRUE(password_.taken("new"));
  EXPECT_EQ(next(6 + password_retry_interval), "new");
}

TEST_F(PasswordTest, RefusalsCanBeForgotten) {
  write("one");
  EXPECT_EQ(next(0), "one");
  EXPECT_TRUE(password_.refused("one", 0));
  EXPECT_EQ(next(1), "none");
  password_.forget_refusals();
  EXPECT_EQ(next(1), "one");
}

TEST_F(PasswordTest, AFileThatIsGoneLeavesTheOneOfBefore) {
  write("old");
  EXPECT_EQ(next(0), "old");
  EXPECT_FALSE(password_.taken("old"));
  write("");
  EXPECT_EQ(next(0), "old");
}

}  // namespace
}  // namespace perennial::store::etcd
