#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/common/secret.h"

// HTTP/1.1 messages: RFC 9112. Boost.Beast parses and writes them, and message.cc alone includes
// it. Beast lets some requests pass that proxies read in different ways; this refuses them (T9).
namespace perennial::http {

enum class Status : uint16_t {
  Ok = 200,
  Created = 201,
  Accepted = 202,
  NoContent = 204,
  NotModified = 304,
  BadRequest = 400,
  Unauthorized = 401,
  Forbidden = 403,
  NotFound = 404,
  MethodNotAllowed = 405,
  RequestTimeout = 408,
  Conflict = 409,
  ContentTooLarge = 413,
  UnsupportedMediaType = 415,
  MisdirectedRequest = 421,
  TooManyRequests = 429,
  FieldsTooLarge = 431,
  NotImplemented = 501,
  ServiceUnavailable = 503,
  VersionNotSupported = 505,
};

// Sizes are in bytes.
struct MessageLimits {
  size_t header_bytes_max = 8 << 10;
  size_t fields_max = 64;
  size_t body_bytes_max = 1 << 20;
  // The largest body of a request with this method and path, where that is smaller. It is asked
  // when the header is there. Null: all may be as large.
  size_t (*body_bytes_max_of)(std::string_view method, std::string_view path) = nullptr;
};

struct Request {
  std::string method;  // As it was sent: "GET".
  std::string path;    // Of the target, before the "?", as it was sent.
  std::string query;   // Behind the "?", as it was sent. Empty: there is none.
  // By the names in small letters. Of a name that came more than once the values are joined by ",
  // ". They and the body may hold a token, so their memory is wiped.
  std::map<std::string, common::SecretText, std::less<>> fields = {};
  common::SecretText body = {};
  bool keep_alive = true;

  std::string_view field(std::string_view name) const;
};

// Finds the requests in the bytes of one connection, however they are divided. What it has read it
// wipes.
class RequestParser {
 public:
  explicit RequestParser(const MessageLimits& limits = {});
  ~RequestParser();

  // Keeps bytes that arrived. They are looked at by next().
  void add(std::string_view bytes);
  // The next whole request. None: more bytes are needed, or refused().
  std::optional<Request> next();
  // Why the connection cannot go on, as a status. Bytes behind it are not looked at.
  std::optional<Status> refused() const { return refused_; }
  // Whether the client waits for "100 Continue" before it sends the body (RFC 9110, 10.1.1). True
  // once for a request.
  bool take_continue() { return std::exchange(wants_continue_, false); }
  // Whether a request has begun that is not whole.
  bool is_within() const;
  // Bytes that are kept.
  size_t held_bytes() const { return in_.size() - taken_; }

 private:
  struct Message;

  bool parse();
  std::string_view rest() const { return std::string_view(in_).substr(taken_); }
  void take(size_t bytes);
  std::optional<Status> problem_of_header() const;

  const MessageLimits limits_;
  common::SecretText in_;
  // Bytes of in_ that were parsed. They are wiped at once, and removed with the last of them.
  size_t taken_ = 0;
  std::unique_ptr<Message> message_;  // The one that has begun.
  std::optional<Status> refused_;
  bool wants_continue_ = false;
};

struct Response {
  // The body has no end that is known: only what is there is sent now, and the connection closes at
  // the end.
  bool is_endless = false;
  Status status = Status::Ok;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> fields = {};
  // Called if the connection ends before all bytes of it were given to the network. Empty: nobody
  // has to know.
  std::function<void()> on_lost = {};
};

// The bytes of a response before its body, with the fields that keep browsers from misusing it.
// `hsts_seconds`: for so long a browser calls this host by TLS only (RFC 6797); only where the
// client has come by TLS.
std::string render_head(const Response& response, bool keep_alive,
                        std::optional<uint64_t> hsts_seconds = {});
// All of it. `head`: the request was a HEAD, so that the body is only counted.
std::string render(const Response& response, bool keep_alive, bool head,
                   std::optional<uint64_t> hsts_seconds = {});

// The values of a name in a query such as "verbose&exclude=disk", as they were sent. A name without
// "=" has the empty value.
std::vector<std::string> query_values(std::string_view query, std::string_view name);

// The names of a query, as they were sent.
std::vector<std::string> query_names(std::string_view query);

// Without percent-encoding. None: it is not well-formed, or has a NUL byte.
std::optional<std::string> percent_decoded(std::string_view text);

}  // namespace perennial::http
