#include "cmd/common/tool/server_connection.h"

#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cmd/common/address.h"
#include "wire/words.h"

namespace perennial::tool {

Result<ServerConnection> ServerConnection::open(const std::string& text) {
  const Result<common::Address> address = common::parse_address(text, common::default_port);
  if (!address.ok()) return address.status();
  Result<common::Socket> socket = common::connect_to(*address);
  if (!socket.ok()) return socket.take_status().with(text);
  return ServerConnection(text, socket.take());
}

Status ServerConnection::limit_silence(uint32_t milliseconds) {
  const timeval limit{.tv_sec = milliseconds / 1000,
                      .tv_usec = static_cast<suseconds_t>(milliseconds % 1000) * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(socket_.fd(), SOL_SOCKET, which, &limit, sizeof limit) != 0)
      return failed("limit the wait for the server");
  }
  return {};
}

void ServerConnection::add(const Command& command, std::string_view body) {
  wire::append_command(output_, command, body);
}

Status ServerConnection::send() {
  for (size_t sent = 0; sent < output_.size();) {
    const ssize_t count =
        ::send(socket_.fd(), output_.data() + sent, output_.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("send");
    sent += static_cast<size_t>(count);
  }
  output_.clear();
  return {};
}

Result<wire::ClientReply> ServerConnection::receive() {
  if (Status sent = send(); !sent.ok()) return sent;
  for (;;) {
    while (input_at_ < input_.size()) {
      wire::ReplyStep step = parser_.feed(std::span(input_).subspan(input_at_));
      input_at_ += step.consumed;
      if (!step.status.ok()) {
        return Status(StatusCode::Io,
                      fmt::format("{}: what answers there is no perennial or beanstalkd: {}",
                                  address_, step.status.message()));
      }
      if (step.reply) return std::move(*step.reply);
    }
    std::array<char, 64 << 10> bytes;
    const ssize_t count = ::recv(socket_.fd(), bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("receive");
    if (count == 0) return Status(StatusCode::Io, address_ + ": the server closed the connection");
    input_.assign(bytes.data(), static_cast<size_t>(count));
    input_at_ = 0;
  }
}

Result<wire::ClientReply> ServerConnection::ask(const Command& command, std::string_view body) {
  add(command, body);
  return receive();
}

bool ServerConnection::is_local() const {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(socket_.fd(), reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.ss_family == AF_UNIX) return true;
  if (peer.ss_family == AF_INET) {
    constexpr uint32_t loopback_network = 127;
    return ntohl(reinterpret_cast<sockaddr_in&>(peer).sin_addr.s_addr) >> 24 == loopback_network;
  }
  const in6_addr& address = reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

Status ServerConnection::failed(const char* doing) const {
  if (errno == EAGAIN) return {StatusCode::Io, address_ + ": the server does not answer"};
  return common::system_error(doing).with(address_);
}

std::string describe(const wire::ClientReply& reply) {
  using Kind = wire::ClientReply::Kind;
  switch (reply.kind) {
    case Kind::Word:
      return std::string(wire::text_of(reply.word));
    case Kind::Inserted:
      return fmt::format("INSERTED {}", reply.id);
    case Kind::InsertedBuried:
      return fmt::format("BURIED {}", reply.id);
    case Kind::Using:
      return "USING " + reply.text;
    case Kind::Watching:
      return fmt::format("WATCHING {}", reply.count);
    case Kind::Kicked:
      return fmt::format("KICKED {}", reply.count);
    case Kind::Reserved:
      return fmt::format("RESERVED {} {}", reply.id, reply.text.size());
    case Kind::Found:
      return fmt::format("FOUND {} {}", reply.id, reply.text.size());
    case Kind::Ok:
      return fmt::format("OK {}", reply.text.size());
    case Kind::Failed:
      return fmt::format("FAILED {}", reply.text.size());
  }
  return "an unknown reply";
}

}  // namespace perennial::tool
