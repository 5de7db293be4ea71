#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "cmd/common/socket.h"
#include "engine/types/command.h"
#include "engine/types/status.h"
#include "wire/client.h"

namespace perennial::tool {

// One connection to a server that speaks the protocol, for the subcommands. Blocks. Commands may be
// sent ahead of their replies; replies come in their order.
class ServerConnection {
 public:
  // HOST:PORT or unix:PATH. InvalidArgument: it is no address. Io and NotFound: nobody answers.
  static Result<ServerConnection> open(const std::string& address);

  // Queues a command; send() and receive() send what is queued.
  void add(const perennial::Command& command, std::string_view body = {});
  Status send();
  // The reply to the oldest command that has none yet. Io: the server is gone.
  Result<wire::ClientReply> receive();
  // One command and its reply. REQUIRES: no reply is outstanding.
  Result<wire::ClientReply> ask(const perennial::Command& command, std::string_view body = {});

 private:
  explicit ServerConnection(common::Socket socket) : socket_(std::move(socket)) {}

  common::Socket socket_;
  wire::ReplyParser parser_;
  std::string output_;
  std::string input_;  // Arrived and not parsed.
  size_t input_at_ = 0;
};

// What a reply says, for an error message: "NOT_FOUND", "INSERTED 5".
std::string describe(const wire::ClientReply& reply);

}  // namespace perennial::tool
