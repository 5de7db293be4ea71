#include "cmd/perenniald/http/message.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <string>

#include <boost/beast/http.hpp>

namespace perennial::http {
namespace {

namespace beast = boost::beast::http;

std::string in_small_letters(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

std::string_view view(boost::string_view text) {
  return {text.data(), text.size()};
}

// RFC 9112, 3.2: "/path", or with a proxy in mind "http://host/path". The authority is empty in the
// first form. None: it is neither.
struct Target {
  std::string_view authority;
  std::string_view path;  // With the query. Empty stands for "/".
};
std::optional<Target> target_of(std::string_view text) {
  if (text.starts_with('/')) return Target{{}, text};
  const size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return std::nullopt;
  const std::string name = in_small_letters(text.substr(0, scheme));
  if (name != "http" && name != "https") return std::nullopt;
  text.remove_prefix(scheme + 3);
  const size_t end = std::min(text.find_first_of("/?"), text.size());
  const Target target = {text.substr(0, end), text.substr(end)};
  const bool has_user = target.authority.find('@') != std::string_view::npos;
  if (target.authority.empty() || has_user || target.path.starts_with('?')) return std::nullopt;
  return target;
}

Status status_of(const boost::system::error_code& error) {
  if (error == beast::error::header_limit) return Status::FieldsTooLarge;
  if (error == beast::error::body_limit) return Status::ContentTooLarge;
  if (error == beast::error::bad_version) return Status::VersionNotSupported;
  return Status::BadRequest;
}

// Whether these bytes, which may be cut off anywhere, may begin a request. Beast waits for the end
// of a header before it looks at most of it, so it would keep a client waiting who speaks something
// else; and it takes a folded line for a part of the one before.
bool may_be_header(std::string_view bytes) {
  if (!bytes.empty() && std::isalpha(static_cast<unsigned char>(bytes.front())) == 0) return false;
  for (size_t at = bytes.find('\n'); at != std::string_view::npos; at = bytes.find('\n', at + 1)) {
    const bool is_bare = at == 0 || bytes[at - 1] != '\r';
    const bool is_folded = at + 1 < bytes.size() && (bytes[at + 1] == ' ' || bytes[at + 1] == '\t');
    if (is_bare || is_folded) return false;
  }
  const size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return true;
  const std::string_view line = bytes.substr(0, end);
  const size_t space = line.rfind(' ');
  return space != std::string_view::npos && line.substr(space + 1).starts_with("HTTP/");
}

}  // namespace

std::string_view Request::field(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string_view() : found->second;
}

struct RequestParser::Message {
  explicit Message(const MessageLimits& limits) {
    parser.header_limit(static_cast<uint32_t>(limits.header_bytes_max));
    parser.body_limit(limits.body_bytes_max);
  }

  using Body =
      beast::basic_string_body<char, std::char_traits<char>, common::WipingAllocator<char>>;

  beast::request_parser<Body, common::WipingAllocator<char>> parser;
  bool header_checked = false;
};

RequestParser::RequestParser(const MessageLimits& limits) : limits_(limits) {}

RequestParser::~RequestParser() = default;

void RequestParser::add(std::string_view bytes) {
  if (refused_) return;
  if (taken_ > 0) {
    // To erase the front would leave a copy of what is behind it.
    common::SecretText kept(rest());
    in_.swap(kept);
    taken_ = 0;
  }
  in_ += bytes;
}

bool RequestParser::is_within() const {
  return message_ != nullptr || held_bytes() > 0;
}

// Removing each request from the front would move all that are behind it, again and again.
void RequestParser::take(size_t bytes) {
  common::wipe(std::span(in_).subspan(taken_, bytes));
  taken_ += bytes;
  if (taken_ == in_.size()) {
    in_.clear();
    taken_ = 0;
  }
}

std::optional<Request> RequestParser::next() {
  if (refused_ || !parse()) return std::nullopt;
  auto message = message_->parser.release();
  const Target target = target_of(view(message.target())).value();
  Request out = {.method = std::string(view(message.method_string())),
                 .path = std::string(target.path.empty() ? "/" : target.path),
                 .query = {},
                 .body = std::move(message.body()),
                 .keep_alive = message.keep_alive()};
  for (const auto& field : message) {
    common::SecretText& value = out.fields[in_small_letters(view(field.name_string()))];
    if (!value.empty()) value += ", ";
    value += view(field.value());
  }
  if (const size_t mark = out.path.find('?'); mark != std::string::npos) {
    out.query = out.path.substr(mark + 1);
    out.path.resize(mark);
  }
  message_.reset();
  return out;
}

// Returns whether a message is whole.
bool RequestParser::parse() {
  const auto refuse = [&](Status status) {
    refused_ = status;
    take(held_bytes());
    return false;
  };
  if (message_ == nullptr) {
    // RFC 9112, 2.2: empty lines before a request are passed over.
    size_t empty_bytes = 0;
    while (rest().substr(empty_bytes).starts_with("\r\n")) empty_bytes += 2;
    take(empty_bytes);
    if (rest().empty() || rest() == "\r") return false;
    message_ = std::make_unique<Message>(limits_);
  }
  if (!message_->header_checked) {
    const size_t end = rest().find("\r\n\r\n");
    const size_t bytes = end == std::string_view::npos ? rest().size() : end + 4;
    // What is wrong first is the reason, however much has arrived.
    const auto header = rest().substr(0, std::min(bytes, limits_.header_bytes_max));
    if (!may_be_header(header)) return refuse(Status::BadRequest);
    if (bytes > limits_.header_bytes_max) return refuse(Status::FieldsTooLarge);
    if (end == std::string_view::npos) return false;
  }
  while (!rest().empty() && !message_->parser.is_done()) {
    boost::system::error_code error;
    const size_t used =
        message_->parser.put(boost::asio::buffer(rest().data(), rest().size()), error);
    take(used);
    if (message_->parser.is_header_done() && !message_->header_checked) {
      if (const std::optional<Status> problem = problem_of_header()) return refuse(*problem);
      message_->header_checked = true;
      // Whoever has sent some of the body waits for nothing.
      const auto& message = message_->parser.get();
      wants_continue_ = message.version() == 11 && rest().empty() && !message_->parser.is_done() &&
                        in_small_letters(view(message[beast::field::expect])) == "100-continue";
    }
    if (error == beast::error::need_more) return false;
    if (error) return refuse(status_of(error));
    if (used == 0) break;
  }
  return message_->parser.is_done();
}

std::optional<Status> RequestParser::problem_of_header() const {
  const auto& message = message_->parser.get();
  const auto fields = static_cast<size_t>(std::distance(message.begin(), message.end()));
  if (fields > limits_.fields_max) return Status::FieldsTooLarge;
  if (message.version() != 10 && message.version() != 11) return Status::VersionNotSupported;
  // No client of ours needs a body in pieces, and proxies do not agree on what some of them mean.
  if (message.count(beast::field::transfer_encoding) > 0) return Status::NotImplemented;
  if (message.count(beast::field::content_length) > 1) return Status::BadRequest;
  const std::string_view length = view(message[beast::field::content_length]);
  if (!std::ranges::all_of(length, [](char c) { return c >= '0' && c <= '9'; })) {
    return Status::BadRequest;
  }
  const size_t hosts = message.count(beast::field::host);
  if (hosts > 1 || (hosts == 0 && message.version() == 11)) return Status::BadRequest;
  const std::optional<Target> target = target_of(view(message.target()));
  if (!target) return Status::BadRequest;
  // A proxy may have gone by either of them.
  const std::string host = in_small_letters(view(message[beast::field::host]));
  const std::string authority = in_small_letters(target->authority);
  if (!authority.empty() && authority != host) return Status::BadRequest;
  if (limits_.body_bytes_max_of == nullptr) return std::nullopt;
  const size_t body_bytes_max = limits_.body_bytes_max_of(
      view(message.method_string()), target->path.substr(0, target->path.find('?')));
  if (message_->parser.content_length().value_or(0) > body_bytes_max) {
    return Status::ContentTooLarge;
  }
  return std::nullopt;
}

std::string render_head(const Response& response, bool keep_alive,
                        std::optional<uint64_t> hsts_seconds) {
  beast::response<beast::empty_body> message;
  message.version(11);
  message.result(static_cast<unsigned>(response.status));
  message.set(beast::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  message.set("Referrer-Policy", "no-referrer");
  message.set("Cross-Origin-Resource-Policy", "same-origin");
  message.set("Cross-Origin-Opener-Policy", "same-origin");
  message.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  message.set(beast::field::cache_control, "no-store");
  if (hsts_seconds) {
    message.set(beast::field::strict_transport_security,
                "max-age=" + std::to_string(*hsts_seconds));
  }
  for (const auto& [name, value] : response.fields) message.set(name, value);
  // RFC 9110, 8.6: 204 has no length, and that of 304 would be another's.
  const bool has_body =
      response.status != Status::NoContent && response.status != Status::NotModified;
  if (!response.is_endless && has_body) message.content_length(response.body.size());
  message.keep_alive(keep_alive && !response.is_endless);
  std::string out;
  beast::serializer<false, beast::empty_body> serializer(message);
  boost::system::error_code error;
  do {
    serializer.next(error, [&](boost::system::error_code&, const auto& buffers) {
      size_t bytes = 0;
      for (auto at = boost::asio::buffer_sequence_begin(buffers);
           at != boost::asio::buffer_sequence_end(buffers); ++at) {
        const boost::asio::const_buffer buffer = *at;
        out.append(static_cast<const char*>(buffer.data()), buffer.size());
        bytes += buffer.size();
      }
      serializer.consume(bytes);
    });
  } while (!error && !serializer.is_done());
  return out;
}

std::string render(const Response& response, bool keep_alive, bool head,
                   std::optional<uint64_t> hsts_seconds) {
  std::string out = render_head(response, keep_alive, hsts_seconds);
  if (!head) out += response.body;
  return out;
}

std::vector<std::string> query_values(std::string_view query, std::string_view name) {
  std::vector<std::string> out;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) {
      out.emplace_back(pair.substr(std::min(equals + 1, pair.size())));
    }
  }
  return out;
}

std::vector<std::string> query_names(std::string_view query) {
  std::vector<std::string> out;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!pair.empty()) out.emplace_back(pair.substr(0, pair.find('=')));
  }
  return out;
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      out += text[at];
      continue;
    }
    if (text.size() - at < 3) return std::nullopt;
    const std::string_view digits = text.substr(at + 1, 2);
    unsigned value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + 2, value, 16);
    if (read.ec != std::errc() || read.ptr != digits.data() + 2 || value == 0) return std::nullopt;
    out += static_cast<char>(value);
    at += 2;
  }
  return out;
}

}  // namespace perennial::http
