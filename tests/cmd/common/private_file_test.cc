#include "cmd/common/private_file.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace perennial::common {
namespace {

constexpr uid_t other_user = 54'321;
constexpr gid_t other_group = 54'322;

bool is_private(mode_t mode, const std::string& path, uid_t owner = 0, gid_t group = other_group) {
  struct stat facts {};
  facts.st_mode = S_IFREG | mode;
  facts.st_uid = owner;
  facts.st_gid = group;
  return check_private(facts, path).ok();
}

TEST(PrivateFile, IsOpenToItsOwnerOnly) {
  for (const mode_t mode : {0600u, 0400u, 0700u}) EXPECT_TRUE(is_private(mode, "/etc/key"));
  for (const mode_t mode : {0640u, 0604u, 0610u, 0666u, 0644u}) {
    EXPECT_FALSE(is_private(mode, "/etc/key")) << std::oct << mode;
  }
}

// As Kubernetes mounts secrets.
TEST(PrivateFile, MayBeReadByAGroupOfThisProcess) {
  std::vector<gid_t> groups(static_cast<size_t>(::getgroups(0, nullptr)));
  groups.resize(static_cast<size_t>(::getgroups(static_cast<int>(groups.size()), groups.data())));
  groups.push_back(::getegid());
  for (const gid_t group : groups) {
    for (const uid_t owner : {uid_t{0}, ::geteuid()}) {
      for (const mode_t mode : {0440u, 0640u}) EXPECT_TRUE(is_private(mode, "/key", owner, group));
      for (const mode_t mode : {0460u, 0450u, 0444u, 0644u, 0642u, 0641u}) {
        EXPECT_FALSE(is_private(mode, "/key", owner, group)) << std::oct << mode;
      }
      EXPECT_FALSE(is_private(0440, "/key", owner, other_group));
    }
    EXPECT_FALSE(is_private(0440, "/key", other_user, group));
  }
}

// The mode of a credential shows the mask of its access list as the rights of a group.
TEST(PrivateFile, MayBeACredential) {
  const std::string folder = "/run/credentials/perenniald.service";
  EXPECT_FALSE(is_private(0440, folder + "/server.key"));
  ASSERT_EQ(setenv("CREDENTIALS_DIRECTORY", folder.c_str(), 1), 0);
  EXPECT_TRUE(is_private(0440, folder + "/server.key"));
  for (const mode_t mode : {0444u, 0460u, 0441u}) {
    EXPECT_FALSE(is_private(mode, folder + "/server.key")) << std::oct << mode;
  }
  for (const std::string& path : std::vector<std::string>{
           "/etc/key", folder, folder + ".other/server.key", folder + "/../../../etc/key"}) {
    EXPECT_FALSE(is_private(0440, path)) << path;
  }
  unsetenv("CREDENTIALS_DIRECTORY");
}

}  // namespace
}  // namespace perennial::common
