#include "cmd/common/tls/client_stream.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cmd/common/network.h"
#include "cmd/common/tls/tls_client_impl.h"
#include "engine/types/check.h"

namespace perennial::common {
namespace {

// A server that does not speak TLS may read the handshake as a part of a command, and wait for
// more.
constexpr std::chrono::milliseconds handshake_max = std::chrono::seconds(15);
constexpr std::chrono::milliseconds no_limit{0};

// ---- A BIO over a socket. OpenSSL's own would end the program by SIGPIPE.

int fd_of(BIO* bio) {
  return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
}

int on_moved(BIO* bio, ssize_t count, void (*retry)(BIO*)) {
  BIO_clear_retry_flags(bio);
  if (count == 0) errno = 0;  // The end of the connection, and not an error.
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) retry(bio);
  return static_cast<int>(count);
}

BIO_METHOD* make_method() {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "client");
  CHECK(method != nullptr);
  BIO_meth_set_read(method, [](BIO* bio, char* out, int size) {
    return on_moved(bio, ::recv(fd_of(bio), out, static_cast<size_t>(size), 0),
                    [](BIO* each) { BIO_set_retry_read(each); });
  });
  BIO_meth_set_write(method, [](BIO* bio, const char* bytes, int size) {
    return on_moved(bio, ::send(fd_of(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL),
                    [](BIO* each) { BIO_set_retry_write(each); });
  });
  BIO_meth_set_ctrl(method, [](BIO*, int command, long, void*) -> long {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  });
  BIO_meth_set_create(method, [](BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  });
  return method;
}

struct FreeMethod {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

const BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> method(make_method());
  return method.get();
}

void limit_time(int fd, std::chrono::milliseconds time) {
  const timeval limit{.tv_sec = time.count() / 1000,
                      .tv_usec = static_cast<suseconds_t>(time.count() % 1000) * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    CHECK(::setsockopt(fd, SOL_SOCKET, which, &limit, sizeof limit) == 0);
  }
}

// The certificate must be for this name or IP address. Only a name is sent to the server (SNI).
void expect_host(SSL* ssl, const std::string& host) {
  if (parse_ip(host)) {
    CHECK(X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host.c_str()) == 1);
    return;
  }
  CHECK(SSL_set_tlsext_host_name(ssl, host.c_str()) == 1);
  CHECK(SSL_set1_host(ssl, host.c_str()) == 1);
}

}  // namespace

struct ClientStream::Tls {
  SSL* ssl = nullptr;
  std::string failure;  // The reason why the last call failed. Empty: errno has it.

  ~Tls() {
    // Sends close_notify, if the kernel takes it without blocking.
    if (failure.empty() && SSL_is_init_finished(ssl) != 0) SSL_shutdown(ssl);
    SSL_free(ssl);
  }
  // Sets errno for a call that has moved nothing. Returns what recv(2) would.
  ssize_t fail(int result) {
    const int system_error = errno;
    switch (SSL_get_error(ssl, result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
        errno = EAGAIN;
        return -1;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      default:
        break;
    }
    const unsigned long error = ERR_peek_error();
    const char* const reason = ERR_reason_error_string(error);
    ERR_clear_error();
    // The connection ended without close_notify. That is no error: each reply says where it ends.
    if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return 0;
    if (error == 0 && system_error == 0) return 0;
    failure = reason != nullptr ? reason : std::string();
    const long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK) failure = X509_verify_cert_error_string(verified);
    errno = reason != nullptr ? EPROTO : system_error;
    return -1;
  }
};

ClientStream::ClientStream() = default;
ClientStream::ClientStream(Socket socket) : socket_(std::move(socket)) {}
ClientStream::ClientStream(ClientStream&&) noexcept = default;
ClientStream& ClientStream::operator=(ClientStream&& other) noexcept {
  // Swapped and not moved: close_notify is sent when `other` is destroyed, while its socket is
  // open.
  std::swap(tls_, other.tls_);
  std::swap(socket_, other.socket_);
  return *this;
}
ClientStream::~ClientStream() = default;

Result<ClientStream> ClientStream::connect(const Address& address, const TlsClient* tls,
                                           std::optional<std::chrono::milliseconds> limit) {
  Result<Socket> socket = connect_to(address, limit);
  if (!socket.ok()) return socket.take_status();
  ClientStream stream;
  stream.socket_ = socket.take();
  if (tls != nullptr) {
    const auto handshake = std::min(limit.value_or(handshake_max), handshake_max);
    if (Status s = stream.shake_hands(address, *tls, handshake); !s.ok()) return s;
  }
  return stream;
}

Status ClientStream::shake_hands(const Address& address, const TlsClient& tls,
                                 std::chrono::milliseconds limit) {
  tls_ = std::make_unique<Tls>();
  tls_->ssl = SSL_new(tls.impl().context.get());
  CHECK(tls_->ssl != nullptr);
  BIO* const bio = BIO_new(socket_method());
  CHECK(bio != nullptr);
  // The number itself, in the place of a pointer. NOLINTNEXTLINE
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd())));
  SSL_set_bio(tls_->ssl, bio, bio);
  if (address.kind == Address::Kind::Internet) {
    expect_host(tls_->ssl, address.host.empty() ? "localhost" : address.host);
  }
  limit_time(fd(), limit);
  ERR_clear_error();
  const int done = SSL_connect(tls_->ssl);
  const ssize_t failed = done == 1 ? 1 : tls_->fail(done);
  if (failed == 0) {
    return {StatusCode::Io,
            "TLS: the server closed the connection; does it speak TLS at this port?"};
  }
  if (failed < 0) return error("TLS");
  limit_time(fd(), no_limit);
  return {};
}

ssize_t ClientStream::send(std::string_view bytes) {
  if (tls_ == nullptr) return ::send(fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  ERR_clear_error();
  const int count =
      SSL_write(tls_->ssl, bytes.data(), static_cast<int>(std::min<size_t>(bytes.size(), INT_MAX)));
  return count > 0 ? count : tls_->fail(count);
}

ssize_t ClientStream::recv(char* buffer, size_t bytes_max) {
  if (tls_ == nullptr) return ::recv(fd(), buffer, bytes_max, 0);
  ERR_clear_error();
  const int count =
      SSL_read(tls_->ssl, buffer, static_cast<int>(std::min<size_t>(bytes_max, INT_MAX)));
  return count > 0 ? count : tls_->fail(count);
}

Status ClientStream::error(const char* doing) const {
  if (tls_ == nullptr || tls_->failure.empty()) return system_error(doing);
  return Status(StatusCode::Io, tls_->failure).with(doing);
}

}  // namespace perennial::common
