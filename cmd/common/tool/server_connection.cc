#include "cmd/common/tool/server_connection.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "cmd/common/address.h"
#include "cmd/common/private_file.h"
#include "cmd/common/socket.h"
#include "cmd/common/token.h"
#include "cmd/common/tool/named_servers.h"

namespace perennial::tool {
namespace {

constexpr const char* token_variable = "PERENNIAL_TOKEN";
constexpr size_t token_bytes_max = 1024;

// The first line of the file. No message repeats it.
Result<std::string> read_token(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return common::system_error(("read " + path).c_str());
  if (Status secret = common::check_private(found, path); !secret.ok()) return secret;
  std::ifstream file(path);
  std::string token;
  std::getline(file, token);
  if (common::token_id(token).empty() || token.size() > token_bytes_max) {
    return Status(StatusCode::InvalidArgument,
                  path + ": its first line is no token, as perennial token new prints it");
  }
  return token;
}

}  // namespace

Result<std::string> find_token(const std::string& file) {
  if (!file.empty()) return read_token(file);
  const char* const set = std::getenv(token_variable);
  if (set == nullptr || *set == 0) return std::string();
  if (!common::token_id(set).empty()) return std::string(set);
  return Status(StatusCode::InvalidArgument,
                fmt::format("the environment variable {} holds no token", token_variable));
}

Status check_token_way(const ServerAddress& server, bool is_local) {
  if (server.tls.is_on || is_local || server.insecure_token) return {};
  return {StatusCode::InvalidArgument,
          "the token would go there readable for everybody on the way, to whoever answers: use "
          "--tls, or --insecure-token if the network is yours alone"};
}

Result<common::Address> parse_server(const ServerAddress& given) {
  const Result<ServerAddress> resolved = resolve_server(given);
  if (!resolved.ok()) return resolved.status();
  const ServerAddress& server = *resolved;
  const bool is_default = server.tls.is_on && server.address == default_server;
  return common::parse_address(is_default ? default_tls_server : server.address,
                               server.tls.is_on ? common::default_tls_port : common::default_port);
}

Result<ServerConnection> ServerConnection::open(const ServerAddress& given) {
  const Result<ServerAddress> resolved = resolve_server(given);
  if (!resolved.ok()) return resolved.status();
  const ServerAddress& server = *resolved;
  const Result<common::Address> address = parse_server(server);
  if (!address.ok()) return address.status();
  const Result<std::optional<common::TlsClient>> tls = common::TlsClient::load_if_on(server.tls);
  if (!tls.ok()) return tls.status();
  const std::chrono::milliseconds limit = server.timeout.value_or(default_timeout);
  Result<common::ClientStream> stream =
      common::ClientStream::connect(*address, *tls ? &**tls : nullptr, limit);
  const std::string name = server.tls.is_on ? common::to_text(*address) : server.address;
  if (!stream.ok()) return stream.take_status().with(name);
  ServerConnection connection(name, stream.take());
  if (Status limited = connection.limit_silence(limit); !limited.ok()) return limited;
  if (Status signed_in = connection.sign_in(server); !signed_in.ok()) return signed_in;
  if (server.timeout) return connection;
  if (Status s = connection.limit_silence(std::chrono::milliseconds(0)); !s.ok()) return s;
  return connection;
}

Status ServerConnection::sign_in(const ServerAddress& server) {
  if (!server.gets_token) return {};
  const Result<std::string> token = find_token(server.token_file);
  if (!token.ok()) return token.status();
  if (token->empty()) return {};
  if (Status s = check_token_way(server, is_local()); !s.ok()) return std::move(s).with(address_);
  const Result<wire::ClientReply> reply = ask(Auth{*token});
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Authenticated)) return {};
  if (reply->is(Word::Unauthorized)) {
    return {StatusCode::InvalidArgument, address_ + ": the server refuses the token"};
  }
  return {StatusCode::InvalidArgument,
          address_ + ": the server knows no tokens: it has no users, or is a beanstalkd"};
}

Status ServerConnection::limit_silence(std::chrono::milliseconds limit) {
  const timeval time{.tv_sec = limit.count() / 1000,
                     .tv_usec = static_cast<suseconds_t>(limit.count() % 1000) * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(fd(), SOL_SOCKET, which, &time, sizeof time) != 0)
      return failed("limit the wait for the server");
  }
  return {};
}

void ServerConnection::add(const Command& command, std::string_view body) {
  wire::append_command(output_, command, body);
}

Status ServerConnection::send() {
  for (size_t sent = 0; sent < output_.size();) {
    const ssize_t count = stream_.send(std::string_view(output_).substr(sent));
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
    const ssize_t count = stream_.recv(bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) {
      return Status(StatusCode::Io, address_ +
                                        ": the server does not answer; what it was asked for it "
                                        "may still do");
    }
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

Status ServerConnection::failed(const char* doing) const {
  if (errno == EAGAIN) return {StatusCode::Io, address_ + ": the server does not answer"};
  return stream_.error(doing).with(address_);
}

}  // namespace perennial::tool
