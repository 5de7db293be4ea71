#include "cmd/perenniald/tls/ticket_keys.h"

#include <cstring>

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

TicketKeys::Key new_key() {
  TicketKeys::Key key;
  CHECK(RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) == 1);
  CHECK(RAND_priv_bytes(key.cipher.data(), static_cast<int>(key.cipher.size())) == 1);
  CHECK(RAND_priv_bytes(key.mac.data(), static_cast<int>(key.mac.size())) == 1);
  return key;
}

void wipe(std::optional<TicketKeys::Key>& key) {
  if (key) OPENSSL_cleanse(&*key, sizeof *key);
  key.reset();
}

bool has_name(const std::optional<TicketKeys::Key>& key, const unsigned char* name) {
  return key && std::memcmp(key->name.data(), name, key->name.size()) == 0;
}

}  // namespace

TicketKeys::Copy::~Copy() {
  OPENSSL_cleanse(&key, sizeof key);
}

TicketKeys::~TicketKeys() {
  wipe(current_);
  wipe(last_);
}

void TicketKeys::rotate(Nanos now) {
  const std::scoped_lock lock(mutex_);
  if (current_ && now - made_ < key_time) return;
  const bool is_recent = current_ && now - made_ < 2 * key_time;
  wipe(last_);
  if (is_recent) last_ = current_;
  wipe(current_);
  current_ = new_key();
  made_ = now;
}

void TicketKeys::renew(Nanos now) {
  const std::scoped_lock lock(mutex_);
  wipe(last_);
  wipe(current_);
  current_ = new_key();
  made_ = now;
}

TicketKeys::Copy TicketKeys::current() const {
  const std::scoped_lock lock(mutex_);
  return {.key = *current_};
}

std::optional<TicketKeys::Copy> TicketKeys::find(const unsigned char* name) const {
  const std::scoped_lock lock(mutex_);
  if (has_name(current_, name)) return Copy{.key = *current_};
  if (has_name(last_, name)) return Copy{.key = *last_, .is_current = false};
  return std::nullopt;
}

}  // namespace perennial::perenniald
