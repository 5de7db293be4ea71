#include "cmd/perenniald/process/processors.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_dir.h"

namespace perennial::perenniald {
namespace {

struct QuotaCase {
  std::string name;
  std::map<std::string, std::string> quotas;  // By group.
  std::string groups;
  std::optional<unsigned> wanted;
};
class ProcessorsByQuota : public testing::TestWithParam<QuotaCase> {};

TEST_P(ProcessorsByQuota, AreThoseOfTheSmallest) {
  const support::TempDir dir;
  for (const auto& [group, quota] : GetParam().quotas) {
    std::filesystem::create_directories(dir.path() + group);
    std::ofstream(dir.path() + group + "/cpu.max") << quota << "\n";
  }
  EXPECT_EQ(processors_by_quota(dir.path(), GetParam().groups), GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    All, ProcessorsByQuota,
    testing::Values(
        QuotaCase{"None", {{"/a", "max 100000"}}, "0::/a\n", std::nullopt},
        QuotaCase{"Whole", {{"/a", "400000 100000"}}, "0::/a\n", 4},
        QuotaCase{"RoundedUp", {{"/a", "150000 100000"}}, "0::/a\n", 2},
        QuotaCase{"LessThanOne", {{"/a", "5000 100000"}}, "0::/a\n", 1},
        QuotaCase{
            "OfAGroupAbove", {{"/a", "200000 100000"}, {"/a/b", "max 100000"}}, "0::/a/b\n", 2},
        QuotaCase{"TheLeast", {{"/a", "300000 100000"}, {"/a/b", "800000 100000"}}, "0::/a/b\n", 3},
        // As in a container with a namespace of its own.
        QuotaCase{"OfTheRoot", {{"", "100000 50000"}}, "0::/\n", 2},
        QuotaCase{"BesideVersion1", {{"/a", "100000 50000"}}, "3:cpu:/x\n1:name=y:/\n0::/a\n", 2},
        QuotaCase{"OnlyVersion1", {{"/a", "100000 50000"}}, "3:cpu:/a\n", std::nullopt},
        QuotaCase{"NoFile", {}, "0::/gone\n", std::nullopt},
        QuotaCase{"BadText", {{"/a", "many"}}, "0::/a\n", std::nullopt},
        QuotaCase{"BadPeriod", {{"/a", "100000 0"}}, "0::/a\n", std::nullopt},
        QuotaCase{"Nothing", {}, "", std::nullopt}),
    [](const auto& quota) { return quota.param.name; });

TEST(Processors, AreAtLeastOne) {
  EXPECT_GE(processors(), 1u);
}

}  // namespace
}  // namespace perennial::perenniald
