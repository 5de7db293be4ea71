#include "cmd/perenniald/access/sign_in.h"

#include <iterator>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace perennial::access {

std::string how_of(const Identity& identity) {
  struct Text {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(const UserName& /*user*/) const { return "listener"; }
    std::string operator()(const CertificateNames& /*names*/) const { return "certificate"; }
    std::string operator()(const PeerProcess& peer) const {
      return fmt::format("uid {} gid {}", peer.uid, peer.gid);
    }
    std::string operator()(const common::TokenRecord& token) const {
      return fmt::format("token {}", token.id);
    }
  };
  return std::visit(Text(), identity);
}

std::optional<SignInMethod> method_of(const Identity& identity) {
  if (std::holds_alternative<CertificateNames>(identity)) return SignInMethod::Certificate;
  if (std::holds_alternative<PeerProcess>(identity)) return SignInMethod::Process;
  if (std::holds_alternative<common::TokenRecord>(identity)) return SignInMethod::Token;
  return std::nullopt;
}

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
  std::optional<Nanos>& at = seen_.of(who + '\n' + address, std::nullopt);
  const std::optional<Nanos> before = std::exchange(at, now);
  return !before || now - *before >= idle;
}

std::optional<uint64_t> SignInLines::take(const std::string& user, const std::string& address,
                                          Nanos now) {
  return lines_.of(user + '\n' + address, common::LineLimit(per_second_max)).take(now);
}

}  // namespace perennial::access
