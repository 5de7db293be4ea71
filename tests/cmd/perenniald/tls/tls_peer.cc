#include "tests/cmd/perenniald/tls/tls_peer.h"

#include <algorithm>
#include <span>
#include <vector>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "engine/types/check.h"

namespace perennial::support {

using perenniald::TlsChannel;

struct TlsPeer::Impl {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL* ssl = nullptr;
  SSL_SESSION* session = nullptr;  // The last one that the server has offered.

  ~Impl() {
    // Otherwise OpenSSL takes the session for a broken one, and offers it no more.
    SSL_set_shutdown(ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
    SSL_SESSION_free(session);
    SSL_free(ssl);
    SSL_CTX_free(context);
  }
  void use(const Certificate& own) const {
    BIO* const certificate = BIO_new_mem_buf(own.certificate.data(), -1);
    BIO* const key = BIO_new_mem_buf(own.key.data(), -1);
    X509* const x509 = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
    EVP_PKEY* const pkey = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
    CHECK(SSL_CTX_use_certificate(context, x509) == 1);
    CHECK(SSL_CTX_use_PrivateKey(context, pkey) == 1);
    X509_free(x509);
    EVP_PKEY_free(pkey);
    BIO_free(certificate);
    BIO_free(key);
  }
};

TlsPeer::TlsPeer(const Setup& setup) : impl_(std::make_unique<Impl>()) {
  SSL_CTX* const context = impl_->context;
  SSL_CTX_set_security_level(context, 0);  // What is refused, the server is to refuse.
  if (setup.certificate != nullptr) impl_->use(*setup.certificate);
  if (setup.version_max != 0) {
    SSL_CTX_set_min_proto_version(context, 0);
    CHECK(SSL_CTX_set_max_proto_version(context, setup.version_max) == 1);
  }
  if (!setup.ciphers.empty()) {
    CHECK(SSL_CTX_set_cipher_list(context, setup.ciphers.c_str()) == 1);
  }
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT);
  SSL_CTX_set_app_data(context, impl_.get());
  SSL_CTX_sess_set_new_cb(context, [](SSL* ssl, SSL_SESSION* session) {
    auto* const impl = static_cast<Impl*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    SSL_SESSION_free(impl->session);
    impl->session = session;
    return 1;
  });
  impl_->ssl = SSL_new(context);
  if (!setup.protocols.empty()) {
    CHECK(SSL_set_alpn_protos(impl_->ssl,
                              reinterpret_cast<const unsigned char*>(setup.protocols.data()),
                              static_cast<unsigned>(setup.protocols.size())) == 0);
  }
  SSL_set_bio(impl_->ssl, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
  SSL_set_connect_state(impl_->ssl);
  if (setup.resumes != nullptr) {
    CHECK(setup.resumes->impl_->session != nullptr);
    // A copy, because OpenSSL offers a session of TLS 1.3 only once.
    SSL_SESSION* const session = SSL_SESSION_dup(setup.resumes->impl_->session);
    CHECK(SSL_set_session(impl_->ssl, session) == 1);
    SSL_SESSION_free(session);
  }
}

TlsPeer::~TlsPeer() = default;

std::string TlsPeer::take_bytes() {
  BIO* const out = SSL_get_wbio(impl_->ssl);
  std::string bytes(BIO_ctrl_pending(out), '\0');
  if (!bytes.empty()) BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
  return bytes;
}

void TlsPeer::give_bytes(std::string_view bytes) {
  BIO_write(SSL_get_rbio(impl_->ssl), bytes.data(), static_cast<int>(bytes.size()));
}

std::string TlsPeer::exchange(TlsChannel& server, size_t piece) {
  std::string heard;
  std::vector<char> plain(piece + TlsChannel::record_bytes_max);
  for (;;) {
    char next = 0;
    SSL_peek(impl_->ssl, &next, 1);  // Goes on with the handshake, and takes session tickets.
    ERR_clear_error();
    const std::string sent = take_bytes();
    for (std::span<const char> rest = sent; !rest.empty();) {
      const std::span<const char> part = rest.first(std::min(piece, rest.size()));
      rest = rest.subspan(part.size());
      if (server.state() == TlsChannel::State::Failed) continue;
      heard.append(plain.data(), server.receive(part, plain));
    }
    give_bytes(server.output());
    const bool idle = sent.empty() && server.output().empty();
    server.output().clear();
    if (idle) return heard;
  }
}

void TlsPeer::say(std::string_view text) {
  CHECK(SSL_write(impl_->ssl, text.data(), static_cast<int>(text.size())) ==
        static_cast<int>(text.size()));
}

std::string TlsPeer::hear() {
  std::string text;
  char buffer[16 << 10];
  for (int count = 0; (count = SSL_read(impl_->ssl, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  ERR_clear_error();
  return text;
}

void TlsPeer::end() {
  SSL_shutdown(impl_->ssl);
}

bool TlsPeer::is_ended() const {
  return (SSL_get_shutdown(impl_->ssl) & SSL_RECEIVED_SHUTDOWN) != 0;
}

bool TlsPeer::is_connected() const {
  return SSL_is_init_finished(impl_->ssl) != 0;
}

bool TlsPeer::is_resumed() const {
  return SSL_session_reused(impl_->ssl) != 0;
}

bool TlsPeer::renegotiate() {
  return SSL_renegotiate(impl_->ssl) == 1 && SSL_do_handshake(impl_->ssl) == 1;
}

bool TlsPeer::update_key() {
  return SSL_key_update(impl_->ssl, SSL_KEY_UPDATE_REQUESTED) == 1 &&
         SSL_do_handshake(impl_->ssl) == 1;
}

std::string TlsPeer::protocol() const {
  const unsigned char* name = nullptr;
  unsigned bytes = 0;
  SSL_get0_alpn_selected(impl_->ssl, &name, &bytes);
  return {reinterpret_cast<const char*>(name), bytes};
}

}  // namespace perennial::support
