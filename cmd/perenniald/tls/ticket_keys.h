#pragma once

#include <array>
#include <optional>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// The keys that encrypt the session tickets of one listener. They are in memory only. A new key is
// made every hour, and the one before it still opens the tickets that it has encrypted.
class TicketKeys {
 public:
  struct Key {
    std::array<unsigned char, 16> name;
    std::array<unsigned char, 32> cipher;
    std::array<unsigned char, 32> mac;
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
  const Key& current() const { return *current_; }
  // Null: no key has this name.
  const Key* find(const unsigned char* name) const;

 private:
  std::optional<Key> current_;
  std::optional<Key> last_;
  Nanos made_ = 0;
};

}  // namespace perennial::perenniald
