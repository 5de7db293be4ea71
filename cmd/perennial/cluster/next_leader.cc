#include "cmd/perennial/cluster/next_leader.h"

#include <thread>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

using store::cluster::LeaderRecord;

constexpr auto look_interval = std::chrono::milliseconds(20);

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace

Result<std::optional<LeaderRecord>> NextLeader::wait(std::chrono::seconds limit) {
  while (Clock::now() - begun_ < limit) {
    Result<std::optional<LeaderRecord>> leader = read();
    if (!leader.ok()) return leader;
    if (*leader && (*leader)->epoch != epoch_) {
      if (says_) print(**leader);
      return leader;
    }
    if (!*leader && !gone_at_) gone_at_ = Clock::now();
    std::this_thread::sleep_for(look_interval);
  }
  return std::optional<LeaderRecord>();
}

Result<std::optional<LeaderRecord>> NextLeader::read() const {
  store::etcd::Transaction read;
  read.then.emplace_back(store::etcd::Get{.range = {.key = keys_.leader(), .end = {}}});
  const auto done = etcd_.commit(read);
  if (!done.ok()) return done.status();
  const auto& found = done->gets.at(0).keys;
  return found.empty() ? std::nullopt : store::cluster::decode_leader(found[0].value);
}

void NextLeader::print(const LeaderRecord& leader) const {
  fmt::print("{} leads, epoch {}, {:.2f} s after the request", printable(leader.node), leader.epoch,
             seconds_since(begun_));
  if (gone_at_) fmt::print("; for {:.2f} s of them no node led", seconds_since(*gone_at_));
  fmt::print("\n");
}

Flag wait_flag(std::chrono::seconds& target) {
  return {.name = "--wait",
          .value = "DURATION",
          .help = "How long to wait until another node leads",
          .target = &target,
          .lowest = 1,
          .highest = 3600};
}

}  // namespace perennial::tool
