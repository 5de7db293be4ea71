#include "store/cluster/follower.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/etcd_client_wrapper.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/virtual_time.h"

// The pages in which a long log is read. Everything else that a follower does is tested with the
// node that it is a part of.
namespace perennial::store::cluster {
namespace {

using support::FakeEtcd;
using support::VirtualTime;

constexpr Nanos second = nanos_per_second;
constexpr size_t answer_bytes_max = 32 << 20;  // Of the real client: channels.h.

// Notes how many entries each page asks for, and takes no answer that is too large, as gRPC does.
class PageClient final : public support::EtcdClientWrapper {
 public:
  using EtcdClientWrapper::EtcdClientWrapper;

  void get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) override {
    limits.push_back(request.limit);
    EtcdClientWrapper::get(std::move(request), deadline, [done = std::move(done)](auto outcome) {
      const auto* found = std::get_if<etcd::Found>(&outcome);
      size_t bytes = 0;
      if (found != nullptr) {
        for (const etcd::KeyValue& key : found->keys) bytes += key.value.size();
      }
      if (bytes > answer_bytes_max) return done(etcd::Failure{.message = "too large"});
      done(std::move(outcome));
    });
  }

  std::vector<int64_t> limits;
};

class FollowerPages : public testing::Test {
 protected:
  void add_entries(size_t count, size_t bytes) {
    for (size_t i = 0; i < count; ++i) {
      ++last_;
      etcd::Transaction put;
      put.then.emplace_back(etcd::Put{.key = keys_.entry(last_), .value = std::string(bytes, 'x')});
      bool is_done = false;
      writer_->commit(put, operator_.now() + second, [&is_done](const auto&) { is_done = true; });
      ASSERT_TRUE(time_.run_until([&is_done] { return is_done; }, second));
    }
  }

  // Reads the whole log. Returns how many pages that took.
  size_t read_all() {
    BatchIndex next = 1;
    bool is_current = false;
    Follower follower(reader_, client_, keys_,
                      {.entry =
                           [&next](BatchIndex index, const std::string&) {
                             EXPECT_EQ(index, next);
                             ++next;
                           },
                       .current = [&is_current] { is_current = true; },
                       .finished = [] {},
                       .behind = [](BatchIndex) { FAIL(); },
                       .other_history = [](const Status&) { FAIL(); },
                       .failed = [this](const etcd::Failure&) { ++failures_; }});
    follower.start({.next = 1});
    EXPECT_TRUE(time_.run_until([&is_current] { return is_current; }, 100 * second));
    EXPECT_EQ(next, last_ + 1);
    follower.stop();
    return client_.limits.size();
  }

  VirtualTime time_{7};
  FakeEtcd etcd_{time_, {.seed = 7}};
  const Keys keys_{"jobs"};
  VirtualTime::Node& operator_ = time_.add_node();
  VirtualTime::Node& reader_ = time_.add_node();
  const std::unique_ptr<etcd::Client> writer_ = etcd_.connect(operator_);
  PageClient client_{etcd_.connect(reader_)};
  BatchIndex last_ = 0;
  int failures_ = 0;
};

TEST_F(FollowerPages, GrowWhereEntriesAreSmall) {
  add_entries(3000, 100);
  // 16, 32, 64, 128, 256 and 512 entries are 1,008; four pages more have the others.
  EXPECT_EQ(read_all(), 10U);
  EXPECT_EQ(failures_, 0);
}

TEST_F(FollowerPages, StaySmallWhereEntriesAreLarge) {
  add_entries(40, size_t{1} << 20);
  EXPECT_EQ(read_all(), 3U);
  EXPECT_EQ(failures_, 0);
}

TEST_F(FollowerPages, BeginAnewAfterOneThatIsTooLarge) {
  add_entries(1008, 100);
  add_entries(48, size_t{1} << 20);
  read_all();
  EXPECT_EQ(failures_, 1);
}

}  // namespace
}  // namespace perennial::store::cluster
