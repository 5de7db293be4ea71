#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cmd/perenniald/tls/tls_channel.h"
#include "tests/support/certificates.h"

namespace perennial::support {

class TlsPeer;

struct TlsPeerSetup {
  const Certificate* certificate = nullptr;  // Null: it has none to show.
  std::string protocols = {};                // Of ALPN, each behind its length.
  int version_max = 0;                       // As OpenSSL counts. 0: the newest.
  std::string ciphers = {};                  // Of TLS 1.2.
  TlsPeer* resumes = nullptr;                // The session of this peer is offered.
};

// A TLS client in memory, made by OpenSSL alone. Bytes cross to a channel of the server when
// exchange() is called.
class TlsPeer {
 public:
  using Setup = TlsPeerSetup;
  explicit TlsPeer(const Setup& setup = {});
  ~TlsPeer();

  // Moves bytes to and fro until neither side has more, each time at most `piece` bytes to the
  // server. Returns what the server has read.
  std::string exchange(perenniald::TlsChannel& server, size_t piece = 64 << 10);
  // REQUIRES: the handshake is finished.
  void say(std::string_view text);
  std::string hear();
  void end();
  // Whether the server has said that nothing more will come.
  bool is_ended() const;
  bool is_connected() const;
  bool is_resumed() const;
  bool renegotiate();
  bool update_key();
  std::string protocol() const;
  // Bytes for the server that were not exchanged. Takes them away.
  std::string take_bytes();
  // Bytes as if they came from the server.
  void give_bytes(std::string_view bytes);

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::support
