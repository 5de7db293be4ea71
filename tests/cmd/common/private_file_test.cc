#include "cmd/common/private_file.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::common {
namespace {

bool is_private(mode_t mode, const std::string& path) {
  struct stat facts {};
  facts.st_mode = S_IFREG | mode;
  return check_private(facts, path).ok();
}

TEST(PrivateFile, IsOpenToItsOwnerOnly) {
  for (const mode_t mode : {0600u, 0400u, 0700u}) EXPECT_TRUE(is_private(mode, "/etc/key"));
  for (const mode_t mode : {0640u, 0604u, 0610u, 0666u, 0644u}) {
    EXPECT_FALSE(is_private(mode, "/etc/key")) << std::oct << mode;
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
