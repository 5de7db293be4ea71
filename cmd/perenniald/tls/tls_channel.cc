#include "cmd/perenniald/tls/tls_channel.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>

#include "cmd/perenniald/tls/certificate_names.h"
#include "cmd/perenniald/tls/tls_channel_impl.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

using Impl = TlsChannel::Impl;

// ---- The BIO that connects OpenSSL to the bytes of a channel.

Impl& channel_of(BIO* bio) {
  return *static_cast<Impl*>(BIO_get_data(bio));
}

int read_received(BIO* bio, char* out, int size) {
  std::span<const char>& received = channel_of(bio).received;
  BIO_clear_retry_flags(bio);
  if (received.empty()) {
    BIO_set_retry_read(bio);
    return -1;
  }
  const size_t count = std::min(received.size(), static_cast<size_t>(size));
  std::memcpy(out, received.data(), count);
  received = received.subspan(count);
  return static_cast<int>(count);
}

int write_output(BIO* bio, const char* bytes, int size) {
  channel_of(bio).output.append(bytes, static_cast<size_t>(size));
  return size;
}

long control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_method() {
  BIO_METHOD* const method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "channel");
  CHECK(method != nullptr);
  BIO_meth_set_read(method, read_received);
  BIO_meth_set_write(method, write_output);
  BIO_meth_set_ctrl(method, control);
  BIO_meth_set_create(method, [](BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  });
  return method;
}

const BIO_METHOD* channel_method() {
  static const std::unique_ptr<BIO_METHOD, OpensslFree<BIO_meth_free>> method(make_method());
  return method.get();
}

// Whether the list of the certificate's issuer names it.
bool is_listed(const Revocations::Lists& lists, X509* certificate) {
  return std::ranges::any_of(lists, [&](const CrlPtr& list) {
    X509_REVOKED* entry = nullptr;
    const bool is_of_issuer =
        X509_NAME_cmp(X509_CRL_get_issuer(list.get()), X509_get_issuer_name(certificate)) == 0;
    return is_of_issuer && X509_CRL_get0_by_cert(list.get(), &entry, certificate) == 1;
  });
}

// OpenSSL refuses to renegotiate with a warning that costs it an answer each time, and goes on. In
// TLS 1.2 any record of a handshake behind the first handshake asks for that.
void watch_records(int writing, int /*version*/, int content, const void* bytes, size_t size,
                   SSL* ssl, void* channel) {
  if (writing != 0 || content != SSL3_RT_HEADER || size == 0) return;
  const bool is_handshake = *static_cast<const unsigned char*>(bytes) == SSL3_RT_HANDSHAKE;
  if (is_handshake && SSL_is_init_finished(ssl) && SSL_version(ssl) == TLS1_2_VERSION) {
    static_cast<Impl*>(channel)->renegotiates = true;
  }
}

}  // namespace

TlsChannel::Impl::Impl(SSL_CTX& context, const Revocations& lists)
    : revocations(lists), ssl(SSL_new(&context)) {
  CHECK(ssl != nullptr);
  BIO* const bio = BIO_new(channel_method());
  CHECK(bio != nullptr);
  BIO_set_data(bio, this);
  SSL_set_bio(ssl.get(), bio, bio);
  SSL_set_accept_state(ssl.get());
  SSL_set_msg_callback(ssl.get(), watch_records);
  SSL_set_msg_callback_arg(ssl.get(), this);
}

void TlsChannel::Impl::shake_hands() {
  handshake_bytes += received.size();
  const int done = SSL_do_handshake(ssl.get());
  if (done == 1) return on_open();
  if (SSL_get_error(ssl.get(), done) != SSL_ERROR_WANT_READ) return fail("the handshake failed");
  if (handshake_bytes > handshake_bytes_max) {
    state = State::Failed;
    failure = fmt::format("no handshake in {} bytes", handshake_bytes_max);
  }
}

void TlsChannel::Impl::on_open() {
  state = State::Open;
  certificate = SSL_get0_peer_certificate(ssl.get());
  if (certificate == nullptr) return;
  chain = SSL_get0_verified_chain(ssl.get());
  peer = names_of(*certificate);
  CHECK(peer);  // A certificate with other names was refused.
  if (!is_revoked()) return;
  // The handshake began with the lists of before.
  state = State::Failed;
  failure = "the handshake failed: certificate revoked";
}

// Of a session that was resumed only the client's own certificate is known.
bool TlsChannel::Impl::is_revoked() const {
  if (certificate == nullptr) return false;
  const std::shared_ptr<const Revocations::Lists> lists = revocations.lists();
  if (lists->empty()) return false;
  if (chain == nullptr) return is_listed(*lists, certificate);
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    if (is_listed(*lists, sk_X509_value(chain, i))) return true;
  }
  return false;
}

bool TlsChannel::Impl::read(std::span<char> plain, size_t& bytes) {
  const int done = SSL_read_ex(ssl.get(), plain.data(), plain.size(), &bytes);
  if (renegotiates) {
    state = State::Failed;
    failure = "renegotiation";
    return false;
  }
  if (done == 1) return true;
  switch (SSL_get_error(ssl.get(), done)) {
    case SSL_ERROR_WANT_READ:
      return false;
    case SSL_ERROR_ZERO_RETURN:
      state = State::Ended;
      return false;
    default:
      fail("a record cannot be read");
      return false;
  }
}

void TlsChannel::Impl::fail(const char* otherwise) {
  state = State::Failed;
  failure = take_openssl_error(otherwise);
  const long verified = SSL_get_verify_result(ssl.get());
  if (verified == X509_V_ERR_APPLICATION_VERIFICATION) {
    failure += ": a name in the certificate cannot be read";
  } else if (verified != X509_V_OK) {
    failure += fmt::format(": {}", X509_verify_cert_error_string(verified));
  }
}

TlsChannel::TlsChannel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

TlsChannel::~TlsChannel() = default;

size_t TlsChannel::receive(std::span<const char> received, std::span<char> plain) {
  CHECK(plain.size() >= received.size() + record_bytes_max);
  ERR_clear_error();
  impl_->received = received;
  if (impl_->state == State::Handshaking) impl_->shake_hands();
  size_t total = 0;
  size_t bytes = 0;
  while (impl_->state == State::Open && impl_->read(plain.subspan(total), bytes)) total += bytes;
  impl_->received = {};
  return total;
}

void TlsChannel::send(std::string_view plain) {
  ERR_clear_error();
  size_t written = 0;
  // The BIO takes everything, so OpenSSL writes all of it or fails.
  const int done = SSL_write_ex(impl_->ssl.get(), plain.data(), plain.size(), &written);
  if (done != 1) impl_->fail("a record cannot be written");
}

void TlsChannel::end() {
  ERR_clear_error();
  if (impl_->state == State::Open || impl_->state == State::Ended) SSL_shutdown(impl_->ssl.get());
}

TlsChannel::State TlsChannel::state() const {
  return impl_->state;
}

std::string& TlsChannel::output() {
  return impl_->output;
}

const std::string& TlsChannel::failure() const {
  return impl_->failure;
}

std::string TlsChannel::description() const {
  return fmt::format("{} {}", SSL_get_version(impl_->ssl.get()),
                     SSL_get_cipher_name(impl_->ssl.get()));
}

bool TlsChannel::is_resumed() const {
  return SSL_session_reused(impl_->ssl.get()) == 1;
}

bool TlsChannel::is_revoked() const {
  return impl_->is_revoked();
}

const std::optional<PeerIdentity>& TlsChannel::peer() const {
  return impl_->peer;
}

}  // namespace perennial::perenniald
