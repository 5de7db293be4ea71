#pragma once

#include <array>
#include <mutex>
#include <optional>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// The keys that encrypt the session tickets of one listener. They are in memory only. A new key is
// made every hour, and the one before it still opens the tickets that it has encrypted.
//
// All calls may be made on any thread: handshakes run on several, and keys are made on one.
class TicketKeys {
 public:
  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> cipher;
    std::array<unsigned char, 32> mac;
  };
  // A copy, which is wiped at its end.
  struct Copy {
    Key key;
    bool is_current = true;

    ~Copy();
  };
  static constexpr Nanos key_time = 3'600 * nanos_per_second;

  TicketKeys() = default;
  ~TicketKeys();
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  // Makes a new key if there is none, or if the current one is an hour old.
  void rotate(Nanos now);
  // Forgets all keys and makes a new one, so that no ticket of before is good.
  void renew(Nanos now);

  // REQUIRES: rotate() or renew() was called.
  Copy current() const;
  // None: no key has this name.
  std::optional<Copy> find(const unsigned char* name) const;

 private:
  mutable std::mutex mutex_;  // Guards all below.
  std::optional<Key> current_;
  std::optional<Key> last_;
  Nanos made_ = 0;
};

}  // namespace perennial::perenniald
