#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cmd/perenniald/tls/openssl.h"

namespace perennial::perenniald {

// The lists of revoked certificates of a listener's clients, as they are now. All calls may be made
// on any thread: a reload sets them on one, and handshakes that end on others ask for them.
class Revocations {
 public:
  using Lists = std::vector<CrlPtr>;

  // Whoever has got some keeps them, whatever is set meanwhile.
  std::shared_ptr<const Lists> lists() const {
    const std::scoped_lock lock(mutex_);
    return lists_;
  }
  void set(Lists&& lists) {
    auto others = std::make_shared<const Lists>(std::move(lists));
    const std::scoped_lock lock(mutex_);
    lists_.swap(others);
  }

 private:
  mutable std::mutex mutex_;  // Guards lists_.
  std::shared_ptr<const Lists> lists_ = std::make_shared<const Lists>();
};

}  // namespace perennial::perenniald
