#include "cmd/perenniald/process/descriptors.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace perennial::perenniald {
namespace {

struct ShareCase {
  const char* name;
  uint64_t descriptors;
  uint64_t wanted;
  uint64_t connections;
  uint32_t tables;
};

void PrintTo(const ShareCase& share, std::ostream* out) {
  *out << share.name;
}

class ShareTest : public testing::TestWithParam<ShareCase> {};

TEST_P(ShareTest, LeavesDescriptorsForTablesAndClients) {
  constexpr uint64_t listeners = 2;
  const auto shares = share_descriptors(GetParam().descriptors, listeners, GetParam().wanted);
  ASSERT_TRUE(shares.has_value());
  EXPECT_EQ(shares->connections, GetParam().connections);
  EXPECT_EQ(shares->tables, GetParam().tables);
  EXPECT_LE(shares->connections + shares->tables + listeners + 64, GetParam().descriptors);
}

INSTANTIATE_TEST_SUITE_P(
    Descriptors, ShareTest,
    testing::Values(ShareCase{"Fewest", 106, 0, 8, 32}, ShareCase{"Few", 150, 0, 52, 32},
                    ShareCase{"FewAndManyWanted", 150, 100, 52, 32},
                    ShareCase{"FewAndFewWanted", 150, 10, 10, 74},
                    ShareCase{"Usual", 1'024, 0, 719, 239},
                    ShareCase{"UsualAndSomeWanted", 1'024, 500, 500, 458},
                    ShareCase{"Many", 524'288, 0, 458'686, 65'536},
                    ShareCase{"ManyAndSomeWanted", 524'288, 10'000, 10'000, 65'536}),
    [](const auto& share) { return std::string(share.param.name); });

TEST(Descriptors, TooFewDescriptorsAreRefused) {
  EXPECT_EQ(descriptors_min(2), 106U);
  EXPECT_FALSE(share_descriptors(105, 2, 0).has_value());
  EXPECT_FALSE(share_descriptors(105, 2, 1).has_value());
}

}  // namespace
}  // namespace perennial::perenniald
