#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace perennial::http {

// How many leases there may be: those that are, and those for which somebody waits. So nobody
// reserves what then cannot be given to anybody.
class LeasePlaces {
 public:
  // Each costs some 250 bytes besides its reservation, and that some kilobytes.
  static constexpr size_t all_max = 100'000;
  // One user leaves places to the others.
  static constexpr size_t of_user_max = 50'000;

  enum class Verdict : uint8_t { Free, UserIsFull, ServerIsFull };
  Verdict judge(const std::string& user, size_t count) const {
    if (all_ + count > all_max) return Verdict::ServerIsFull;
    const auto found = of_users_.find(user);
    const size_t of_user = found == of_users_.end() ? 0 : found->second;
    return of_user + count > of_user_max ? Verdict::UserIsFull : Verdict::Free;
  }
  void take(const std::string& user, size_t count) {
    all_ += count;
    of_users_[user] += count;
  }
  // REQUIRES: so many were taken for this user.
  void give_back(const std::string& user, size_t count) {
    if (count == 0) return;
    all_ -= count;
    const auto found = of_users_.find(user);
    found->second -= count;
    if (found->second == 0) of_users_.erase(found);
  }
  size_t taken() const { return all_; }

 private:
  size_t all_ = 0;
  std::map<std::string, size_t> of_users_;
};

}  // namespace perennial::http
