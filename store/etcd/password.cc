#include "store/etcd/password.h"

#include <fstream>
#include <utility>

#include <fmt/format.h>

namespace perennial::store::etcd {

Result<std::string> Password::read(const GrpcClientOptions& options) {
  if (options.password_file.empty()) return options.password;
  std::ifstream file(options.password_file);
  std::string password;
  if (std::getline(file, password) && !password.empty()) return password;
  return Status(StatusCode::InvalidArgument,
                options.password_file + " has no password in its first line, or cannot be read");
}

Result<std::string> Password::next(const GrpcClientOptions& options, Nanos now) {
  Result<std::string> password = read(options);
  is_fallback_ = !password.ok() || !may_try(*password, now);
  if (!is_fallback_) return password;
  if (!taken_.empty() && may_try(taken_, now)) return taken_;
  if (!password.ok()) return password;
  return Status(StatusCode::InvalidArgument,
                fmt::format("etcd refuses the password of user {}", options.user));
}

bool Password::taken(const std::string& password) {
  refused_until_.erase(password);
  const bool was_refused = refused_ == password;
  const bool is_other = !taken_.empty() && taken_ != password;
  if (was_refused || is_other) refused_.clear();
  taken_ = password;
  return was_refused || is_other;
}

bool Password::refused(const std::string& password, Nanos now) {
  std::erase_if(refused_until_, [&](const auto& each) { return each.second <= now; });
  refused_until_[password] = now + password_retry_interval;
  return !is_fallback_ && std::exchange(refused_, password) != password;
}

bool Password::may_try(const std::string& password, Nanos now) const {
  const auto found = refused_until_.find(password);
  return found == refused_until_.end() || found->second <= now;
}

}  // namespace perennial::store::etcd
