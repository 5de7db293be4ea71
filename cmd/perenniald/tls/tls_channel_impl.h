#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cmd/perenniald/tls/openssl.h"
#include "cmd/perenniald/tls/tls_channel.h"

namespace perennial::perenniald {

struct TlsChannel::Impl {
  // `revocations`: those of the listener, which outlives the channel. They change at a reload.
  Impl(SSL_CTX& context, const std::vector<CrlPtr>& revocations);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void shake_hands();
  // Returns false if nothing can be read now.
  bool read(std::span<char> plain, size_t& bytes);
  void on_open();
  void fail(const char* otherwise);
  bool is_revoked() const;

  const std::vector<CrlPtr>& revocations;
  std::span<const char> received;  // What OpenSSL has not read. Empty outside of receive().
  std::string output;
  State state = State::Handshaking;
  std::string failure;
  std::optional<PeerIdentity> peer;
  size_t handshake_bytes = 0;
  bool renegotiates = false;
  SslPtr ssl;  // Last, because its end may still write to the members above.
};

}  // namespace perennial::perenniald
