#pragma once

#include <optional>
#include <span>
#include <string>

#include "cmd/perenniald/tls/openssl.h"
#include "cmd/perenniald/tls/revocations.h"
#include "cmd/perenniald/tls/tls_channel.h"

namespace perennial::perenniald {

struct TlsChannel::Impl {
  // `revocations`: those of the listener, which outlives the channel. They change at a reload.
  Impl(SSL_CTX& context, const Revocations& revocations);
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void shake_hands();
  // Returns false if nothing can be read now.
  bool read(std::span<char> plain, size_t& bytes);
  void on_open();
  void fail(const char* otherwise);
  bool is_revoked() const;

  const Revocations& revocations;
  std::span<const char> received;  // What OpenSSL has not read. Empty outside of receive().
  std::string output;
  State state = State::Handshaking;
  std::string failure;
  std::optional<PeerIdentity> peer;
  // What the client has proved to own, and who vouches for it, as far as that is known. They belong
  // to `ssl`, and stay as they are from the end of the handshake, so is_revoked() reads nothing of
  // it that changes. Null: it has shown none.
  X509* certificate = nullptr;
  const STACK_OF(X509) * chain = nullptr;
  size_t handshake_bytes = 0;
  bool renegotiates = false;
  SslPtr ssl;  // Last, because its end may still write to the members above.
};

}  // namespace perennial::perenniald
