#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cmd/common/address.h"
#include "cmd/common/socket.h"
#include "cmd/common/tls/client_stream.h"
#include "engine/types/command.h"
#include "engine/types/status.h"
#include "wire/client.h"

namespace perennial::tool {

inline constexpr std::string_view default_server = "127.0.0.1:11300";
// With TLS, where nothing else is asked for.
inline constexpr std::string_view default_tls_server = "127.0.0.1:11400";

// Longer than the 30 seconds after which a perennial whose disk hangs ends its process.
inline constexpr std::chrono::milliseconds default_timeout = std::chrono::seconds(45);

// Where a server is, and how it is reached: what --server, --tls and their like say.
struct ServerAddress {
  std::string address{default_server};  // HOST:PORT, unix:PATH, or @NAME: named_servers.h.
  common::TlsClientSettings tls = {};
  // A file with a token. Empty: the environment variable PERENNIAL_TOKEN, if it is set.
  std::string token_file = {};
  bool insecure_token = false;  // The token may go to another machine without TLS.
  bool gets_token = true;       // Otherwise it is shown none, whatever is set.
  // The longest wait for the connection, and then for each next word of the server. None: that of
  // default_timeout, and the command says how long it waits for an answer.
  std::optional<std::chrono::milliseconds> timeout = {};

  ServerAddress() = default;
  ServerAddress(std::string text) : address(std::move(text)) {}  // NOLINT: implicit on purpose
  ServerAddress(const char* text) : address(text) {}             // NOLINT: likewise
};

// The token in the file, or else in the environment variable PERENNIAL_TOKEN; empty if there is
// none. InvalidArgument: it is no token, or others than its owner have access to the file.
Result<std::string> find_token(const std::string& file);

// Whether a token may be sent to a server: with TLS, on this machine (`is_local`), or where it is
// asked for. InvalidArgument: it may not.
Status check_token_way(const ServerAddress& server, bool is_local);

// The address as the flags mean it: the default port, and the default server, follow from TLS.
// InvalidArgument: it is none, or no server has such a name.
Result<common::Address> parse_server(const ServerAddress& given);

// One blocking connection to a server that speaks the protocol, for the subcommands. Several
// commands may be sent before their replies are read. Replies come in the order of the commands.
class ServerConnection {
 public:
  // InvalidArgument: the text is not an address, or a file of TLS cannot be used. Io and NotFound:
  // no server answers, or it is not the one that its certificate says, or it refuses the token.
  // InvalidArgument also if there is a token that check_token_way() keeps back. The connection has
  // the limit of `given`, or else none from now on: limit_silence().
  static Result<ServerConnection> open(const ServerAddress& given);

  // The connection over a socket that is connected already. `address` is for messages.
  static ServerConnection over(std::string address, common::Socket socket) {
    return {std::move(address), common::ClientStream(std::move(socket))};
  }

  // Limits each wait for the server, for sending and for receiving. A longer wait is an error (Io).
  // 0: there is no limit.
  Status limit_silence(std::chrono::milliseconds limit);

  // Queues a command. send() and receive() send what is queued. A caller that queues commands with
  // large replies must receive some of them before it queues more, because the server stops reading
  // from a client that does not read.
  void add(const Command& command, std::string_view body = {});
  size_t queued_bytes() const { return output_.size(); }
  Status send();
  // Returns the reply to the oldest command without one. Io: the server is gone, or does not speak
  // the protocol.
  Result<wire::ClientReply> receive();
  // Sends one command and returns its reply. REQUIRES: no reply is outstanding.
  Result<wire::ClientReply> ask(const Command& command, std::string_view body = {});

  // Whether bytes behind the last reply have arrived already: receive() may then have a reply that
  // poll() does not tell of.
  bool has_input() const { return input_at_ < input_.size(); }

  const std::string& address() const { return address_; }
  // For poll(): readable when a reply, or the end of the connection, has arrived. REQUIRES: only
  // one reply is outstanding, or has_input() is asked, too, because those that came with an earlier
  // one are read already.
  int fd() const { return stream_.fd(); }
  // Whether the other end is on this machine: a unix socket or a loopback address.
  bool is_local() const { return common::is_local_peer(fd()); }

 private:
  ServerConnection(std::string address, common::ClientStream stream)
      : address_(std::move(address)), stream_(std::move(stream)) {}
  Status failed(const char* doing) const;
  // Sends the token, if there is one.
  Status sign_in(const ServerAddress& server);

  std::string address_;
  common::ClientStream stream_;
  wire::ReplyParser parser_;
  std::string output_;
  std::string input_;  // Bytes that have arrived. Those before input_at_ are parsed.
  size_t input_at_ = 0;
};

}  // namespace perennial::tool
