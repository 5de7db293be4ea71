#include "cmd/perennial/cluster/verify.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::tool {
namespace {

constexpr const char* answer =
    R"({"index":7,"families":[{"name":"ready","rows":2,"hash":"aa"},{"name":"bodies","rows":2,"hash":"bb"}]})";

NodeDigests digests(const std::string& node) {
  const Result<NodeDigests> read = parse_digests(node, answer);
  EXPECT_TRUE(read.ok());
  return *read;
}

TEST(ClusterVerify, ReadsWhatANodeAnswers) {
  const NodeDigests read = digests("a");
  EXPECT_EQ(read.index, 7U);
  ASSERT_EQ(read.families.size(), 2U);
  EXPECT_EQ(read.families[1], (NodeDigests::Family{"bodies", 2, "bb"}));
}

TEST(ClusterVerify, RefusesWhatIsNoDigest) {
  const std::string whole = answer;
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_digests("a", whole.substr(0, size)).ok()) << size;
  }
  for (const char* bad :
       {"7", "[]", R"({"index":-1,"families":[]})", R"({"index":7,"families":[]})",
        R"({"index":7,"families":[{"name":"ready","rows":"2","hash":"aa"}]})"}) {
    const Result<NodeDigests> read = parse_digests("a", bad);
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_TRUE(read.status().message().starts_with("a: ")) << bad;
  }
}

TEST(ClusterVerify, NamesEachFamilyThatDiffers) {
  std::vector<NodeDigests> nodes = {digests("a"), digests("b"), digests("c")};
  EXPECT_EQ(differences(nodes), std::vector<std::string>());
  nodes[2].families[0].hash = "cc";
  EXPECT_EQ(differences(nodes),
            std::vector<std::string>({"c: 2 rows in ready, hash cc; a: 2 rows in ready, hash aa"}));
  nodes[1].families[1].rows = 3;
  EXPECT_EQ(differences(nodes).size(), 2U);
  nodes[1].families.pop_back();
  EXPECT_EQ(differences(nodes)[0], "b has 1 column families, and a has 2");
  nodes[1].index = 8;
  EXPECT_EQ(differences(nodes)[0], "b is at batch 8, and a at 7");
}

}  // namespace
}  // namespace perennial::tool
