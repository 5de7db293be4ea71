#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace perennial::http {

// How many of something there may be, for all and for one user, who leaves places to the others.
class Places {
 public:
  enum class Verdict : uint8_t { Free, UserIsFull, ServerIsFull };
  struct Max {
    size_t all;
    size_t of_user;
  };

  Verdict judge(const std::string& user, size_t count, const Max& max) const {
    if (all_ + count > max.all) return Verdict::ServerIsFull;
    const auto found = of_users_.find(user);
    const size_t of_user = found == of_users_.end() ? 0 : found->second;
    return of_user + count > max.of_user ? Verdict::UserIsFull : Verdict::Free;
  }
  void take(const std::string& user, size_t count) {
    if (count == 0) return;
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
