#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/common/tls/tls_client.h"
#include "engine/types/status.h"

// One request of HTTP/1.1, for a question whose answer is short. It follows no redirection, uses no
// proxy and sends no token.
namespace perennial::tool {

// Where something is asked for.
struct HttpPlace {
  std::string address;  // HOST:PORT, HOST or unix:PATH, as parse_address reads it.
  std::string path;     // Begins with a slash, or is empty.
  bool is_tls = false;
  uint16_t default_port = 0;  // Where the address names none.

  // As a URL; as "unix:PATH" for a socket, without the path of the request.
  std::string text() const;
};

// Reads "http://HOST:PORT/PATH", "https://...", "HOST:PORT", "HOST" or "unix:PATH". Without a
// scheme the port is that of perenniald's HTTP. InvalidArgument: it is none of these.
Result<HttpPlace> parse_http_place(std::string_view text);

struct HttpAnswer {
  int status = 0;  // Such as 200.
  std::string body;
};

// Reads an answer that ended with the connection. Io: it is none of HTTP, or was cut off.
Result<HttpAnswer> parse_http_answer(std::string_view bytes);

// Asks for `place`, whose path is set. Null `tls`: plain. `limit`: of the connection, and of each
// wait for bytes. Io and NotFound: no answer came, also because the server's certificate is not
// good.
Result<HttpAnswer> http_get(const HttpPlace& place, const common::TlsClient* tls,
                            std::chrono::milliseconds limit);

}  // namespace perennial::tool
