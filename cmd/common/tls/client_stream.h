#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "cmd/common/address.h"
#include "cmd/common/socket.h"
#include "cmd/common/tls/tls_client.h"
#include "engine/types/status.h"

namespace perennial::common {

// A client's connection to a server, plain or with TLS.
class ClientStream {
 public:
  // Null `tls`: plain. With TLS the server must show a certificate for the host of the address; a
  // unix socket has none. The handshake is finished when this returns, and the socket blocks. Io:
  // the connection or the handshake failed. NotFound: the host has no address. `limit`: that of
  // connect_to(), and of each wait in the handshake, which is never more than 15 seconds.
  static Result<ClientStream> connect(const Address& address, const TlsClient* tls,
                                      std::optional<std::chrono::milliseconds> limit = {});
  ClientStream();
  // Plain, over a socket that is connected already.
  explicit ClientStream(Socket socket);
  ClientStream(ClientStream&&) noexcept;
  ClientStream& operator=(ClientStream&&) noexcept;
  ~ClientStream();

  int fd() const { return socket_.fd(); }

  // As send(2) and recv(2), without a signal: the count of bytes, or -1 and errno. EAGAIN: the
  // socket does not block, or its time is over. recv may return less than has arrived;
  // has_records() says whether it does so even if the buffer is not full.
  ssize_t send(std::string_view bytes);
  ssize_t recv(char* buffer, size_t bytes_max);
  bool has_records() const { return tls_ != nullptr; }
  // The error of the last call, for people. `doing` names what was being done.
  Status error(const char* doing) const;

 private:
  struct Tls;
  Status shake_hands(const Address& address, const TlsClient& tls, std::chrono::milliseconds limit);

  Socket socket_;
  std::unique_ptr<Tls> tls_;  // Null: plain.
};

}  // namespace perennial::common
