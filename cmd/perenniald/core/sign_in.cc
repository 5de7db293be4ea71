#include "cmd/perenniald/core/sign_in.h"

#include <iterator>
#include <utility>

namespace perennial::core {

bool SignInLimiter::is_refused(const std::string& address, Nanos now) const {
  const auto found = failures_.find(address);
  if (found == failures_.end()) return false;
  return found->second.count >= failures_max && now - found->second.since < window;
}

void SignInLimiter::on_failure(const std::string& address, Nanos now) {
  if (address.empty()) return;
  const auto found = failures_.find(address);
  if (found != failures_.end() && now - found->second.since < window) {
    ++found->second.count;
    return;
  }
  if (found != failures_.end()) {
    by_age_.erase(found->second.place);
    failures_.erase(found);
  } else if (failures_.size() >= addresses_max) {
    failures_.erase(by_age_.front());
    by_age_.pop_front();
  }
  by_age_.push_back(address);
  failures_.emplace(address, Failures{.since = now, .count = 1, .place = std::prev(by_age_.end())});
}

bool SeenSignIns::is_news(const std::string& who, const std::string& address, Nanos now) {
  const std::string pair = who + '\n' + address;
  const auto found = seen_.find(pair);
  if (found != seen_.end()) {
    by_time_.splice(by_time_.end(), by_time_, found->second.place);
    return now - std::exchange(found->second.at, now) >= idle;
  }
  if (seen_.size() >= pairs_max) {
    seen_.erase(by_time_.front());
    by_time_.pop_front();
  }
  by_time_.push_back(pair);
  seen_.emplace(pair, Seen{.at = now, .place = std::prev(by_time_.end())});
  return true;
}

}  // namespace perennial::core
