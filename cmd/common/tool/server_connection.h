#pragma once

#include <cstdint>
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

  // A server that takes nothing, or says nothing, for so long is an error (Io). Before this is
  // called there is no limit.
  Status limit_silence(uint32_t milliseconds);

  // Queues a command; send() and receive() send what is queued. A caller that queues commands with
  // large replies receives some before it queues more: a server does not read on from a client
  // that does not read.
  void add(const Command& command, std::string_view body = {});
  size_t queued_bytes() const { return output_.size(); }
  Status send();
  // The reply to the oldest command that has none yet. Io: the server is gone, or it is none that
  // speaks the protocol.
  Result<wire::ClientReply> receive();
  // One command and its reply. REQUIRES: no reply is outstanding.
  Result<wire::ClientReply> ask(const Command& command, std::string_view body = {});

  const std::string& address() const { return address_; }
  // Whether the other end is on this machine: a unix socket or a loopback address.
  bool is_local() const;

 private:
  ServerConnection(std::string address, common::Socket socket)
      : address_(std::move(address)), socket_(std::move(socket)) {}
  Status failed(const char* doing) const;

  std::string address_;
  common::Socket socket_;
  wire::ReplyParser parser_;
  std::string output_;
  std::string input_;  // Arrived and not parsed.
  size_t input_at_ = 0;
};

// What a reply says, for an error message: "NOT_FOUND", "INSERTED 5".
std::string describe(const wire::ClientReply& reply);

}  // namespace perennial::tool
