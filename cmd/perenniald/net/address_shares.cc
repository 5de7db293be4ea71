#include "cmd/perenniald/net/address_shares.h"

#include "cmd/common/network.h"
#include "engine/types/check.h"

namespace perennial::perenniald {

std::string share_of(const AcceptedSocket& socket) {
  // A proxy connects for many.
  if (socket.is_local || !socket.address || socket.wants_proxy_header) return {};
  return common::to_text(common::client_network(*socket.address));
}

void AddressShares::remove(const std::string& share) {
  if (share.empty()) return;
  const auto found = counts_.find(share);
  CHECK(found != counts_.end());
  if (--found->second == 0) counts_.erase(found);
}

}  // namespace perennial::perenniald
