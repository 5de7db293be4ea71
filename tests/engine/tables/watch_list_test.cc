#include "engine/tables/watch_list.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/tables/conn.h"

namespace perennial::engine {
namespace {

class WatchLists : public testing::TestWithParam<size_t> {
 protected:
  WatchLists() {
    for (TubeId id = 0; id < GetParam(); ++id) {
      auto tube = std::make_unique<Tube>();
      tube->id = 10 * id;
      tube->name = std::string(id + 1, 'x');
      tubes_.push_back(std::move(tube));
      list_.add(conn_, *tubes_.back());
      bytes_ += id + 1;
    }
  }
  std::vector<TubeId> ids() const {
    std::vector<TubeId> ids;
    for (const WatchLink& link : list_.links()) ids.push_back(link.tube / 10);
    return ids;
  }

  Conn conn_;
  std::vector<std::unique_ptr<Tube>> tubes_;
  WatchList list_;
  size_t bytes_ = 0;
};

TEST_P(WatchLists, TheLastTubeTakesThePlaceOfOneThatIsIgnored) {
  std::vector<TubeId> wanted = ids();
  ASSERT_EQ(wanted.size(), GetParam());
  EXPECT_EQ(list_.name_bytes(), bytes_);
  while (wanted.size() > 1) {
    const size_t place = wanted.size() / 3;
    const TubeId ignored = wanted[place];
    EXPECT_TRUE(list_.contains(*tubes_[ignored]));
    list_.remove(*tubes_[ignored]);
    EXPECT_FALSE(list_.contains(*tubes_[ignored]));
    bytes_ -= ignored + 1;
    wanted[place] = wanted.back();
    wanted.pop_back();
    ASSERT_EQ(ids(), wanted);
    EXPECT_EQ(list_.name_bytes(), bytes_);
    for (const TubeId id : wanted) ASSERT_TRUE(list_.contains(*tubes_[id]));
  }
  list_.remove(*tubes_[wanted[0]]);
  EXPECT_TRUE(list_.empty());
  for (const auto& tube : tubes_) list_.add(conn_, *tube);
  EXPECT_EQ(list_.size(), GetParam());
}

TEST_P(WatchLists, AreLeftFromTheFirstThenFromTheLast) {
  std::vector<TubeId> wanted = ids();
  EXPECT_EQ(list_.leave_next() / 10, wanted.front());
  wanted.erase(wanted.begin());
  for (; !wanted.empty(); wanted.pop_back()) {
    ASSERT_EQ(ids(), wanted);
    EXPECT_EQ(list_.leave_next() / 10, wanted.back());
  }
  EXPECT_TRUE(list_.empty());
}

// Up to 16 tubes are searched linearly, and more have an index.
INSTANTIATE_TEST_SUITE_P(Of, WatchLists, testing::Values(1, 2, 16, 17, 100));

}  // namespace
}  // namespace perennial::engine
