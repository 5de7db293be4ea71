#include "store/etcd/watch_assembly.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::store::etcd {
namespace {

struct Change {
  std::string key;
  Revision revision = 0;
};

etcdserverpb::WatchResponse answer(const std::vector<Change>& changes, bool is_fragment = false) {
  etcdserverpb::WatchResponse answer;
  answer.mutable_header()->set_revision(1'000);  // Ahead of all events.
  answer.set_fragment(is_fragment);
  for (const Change& change : changes) {
    etcdserverpb::KeyValue& key = *answer.add_events()->mutable_kv();
    key.set_key(change.key);
    key.set_mod_revision(change.revision);
  }
  return answer;
}

// The keys of a report and its revision: "a b 7". "": there is none.
std::string added(WatchAssembly& assembly, etcdserverpb::WatchResponse answer) {
  const std::optional<WatchEvents> report = assembly.add(answer);
  if (!report) return "";
  std::string text;
  for (const WatchEvent& event : report->events) text += event.key.key + " ";
  return text + std::to_string(report->revision);
}

TEST(WatchAssembly, AnAnswerThatIsWholeIsReportedAtOnce) {
  WatchAssembly assembly(5);
  EXPECT_EQ(added(assembly, answer({{"a", 5}, {"b", 5}, {"c", 7}})), "a b c 7");
  EXPECT_EQ(added(assembly, answer({{"a", 8}})), "a 8");
}

TEST(WatchAssembly, AnEmptyAnswerReportsNothingNew) {
  WatchAssembly assembly(5);
  EXPECT_EQ(added(assembly, answer({})), "4");
  EXPECT_EQ(added(assembly, answer({{"a", 9}})), "a 9");
  EXPECT_EQ(added(assembly, answer({})), "9");
}

TEST(WatchAssembly, TheNewestRevisionOfAFragmentWaitsForTheNext) {
  WatchAssembly assembly(5);
  EXPECT_EQ(added(assembly, answer({{"a", 5}, {"b", 6}, {"c", 7}}, true)), "a b 6");
  EXPECT_EQ(added(assembly, answer({{"d", 7}}, true)), "");
  EXPECT_EQ(added(assembly, answer({})), "6");  // A sign of life in the middle.
  EXPECT_EQ(added(assembly, answer({{"e", 7}, {"f", 8}}, true)), "c d e 7");
  EXPECT_EQ(added(assembly, answer({{"g", 8}, {"h", 9}})), "f g h 9");
}

TEST(WatchAssembly, AFragmentMayEndWithItsRevision) {
  WatchAssembly assembly(5);
  EXPECT_EQ(added(assembly, answer({{"a", 5}}, true)), "");
  EXPECT_EQ(added(assembly, answer({{"b", 6}}, true)), "a 5");
  EXPECT_EQ(added(assembly, answer({{"c", 7}})), "b c 7");
}

}  // namespace
}  // namespace perennial::store::etcd
