#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cmd/perenniald/tls/peer_identity.h"

namespace perennial::perenniald {

// TLS with one client, as bytes in memory: what came from the network goes in, and what is for the
// network comes out. It knows no socket and no time.
//
// OpenSSL reads from the caller's bytes and keeps only a record that is not complete. Its own
// memory buffers would keep the largest size that they ever had, for each connection.
class TlsChannel {
 public:
  // Handshaking: no bytes of the session can be moved yet. Ended: the client has said that it will
  // send nothing more, and can still be sent to. Failed: nothing more can be done.
  enum class State : uint8_t { Handshaking, Open, Ended, Failed };
  // The longest record, of which parts may be kept.
  static constexpr size_t record_bytes_max = 17 << 10;
  // All that a client may send before its handshake is finished.
  static constexpr size_t handshake_bytes_max = 64 << 10;

  // `impl` is made by TlsListener::open().
  struct Impl;
  explicit TlsChannel(std::unique_ptr<Impl> impl);
  ~TlsChannel();
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;

  // Takes all of `received`, and returns the count of bytes that it wrote to `plain`. REQUIRES:
  // `plain` holds record_bytes_max more than `received`.
  size_t receive(std::span<const char> received, std::span<char> plain);
  // Appends the records of these bytes to output(). REQUIRES: the handshake is finished.
  void send(std::string_view plain);
  // Appends to output() that nothing more will come.
  void end();

  State state() const;
  // Bytes for the network. The caller takes them away.
  std::string& output();
  // Why the state is Failed, for the log.
  const std::string& failure() const;
  // How the client talks, for the log: "TLSv1.3 TLS_AES_256_GCM_SHA384". REQUIRES: the handshake is
  // finished.
  std::string description() const;
  // Whether the session is one of an earlier connection. REQUIRES: the handshake is finished.
  bool is_resumed() const;
  // Nothing: the client has shown no certificate. REQUIRES: the handshake is finished.
  const std::optional<PeerIdentity>& peer() const;
  // Whether the lists that the listener has now revoke the client's certificate, or one between it
  // and its CA. It may be called while another thread uses the channel. REQUIRES: the handshake is
  // finished, and the caller's thread knows that.
  bool is_revoked() const;

 private:
  const std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::perenniald
