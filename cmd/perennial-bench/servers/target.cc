#include "cmd/perennial-bench/servers/target.h"

#include <string_view>

namespace perennial::bench {
namespace {

constexpr size_t reply_bytes_max = 100;

Status send_all(common::ClientStream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = stream.send(bytes);
    if (sent < 0) return stream.error("send");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Status sign_in(common::ClientStream& stream, const std::string& token) {
  if (Status sent = send_all(stream, "auth " + token + "\r\n"); !sent.ok()) return sent;
  std::string line;
  while (!line.ends_with('\n')) {
    char c = 0;  // Nothing may be read that belongs to the next reply.
    const ssize_t got = stream.recv(&c, 1);
    if (got < 0) return stream.error("recv");
    if (got == 0 || line.size() > reply_bytes_max) break;
    line += c;
  }
  if (line == "AUTHENTICATED\r\n") return {};
  return {StatusCode::Io, "the server refuses the token: it answered '" + line + "'"};
}

}  // namespace

Result<common::ClientStream> open_stream(const Target& target) {
  Result<common::ClientStream> stream = common::ClientStream::connect(target.address, target.tls);
  if (!stream.ok() || target.token.empty()) return stream;
  const bool is_local = common::is_local_peer(stream->fd());
  if (Status s = tool::check_token_way(server_address(target), is_local); !s.ok()) return s;
  if (Status known = sign_in(*stream, target.token); !known.ok()) return known;
  return stream;
}

}  // namespace perennial::bench
