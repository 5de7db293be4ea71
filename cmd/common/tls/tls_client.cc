#include "cmd/common/tls/tls_client.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/err.h>

#include "cmd/common/tls/tls_client_impl.h"
#include "engine/types/check.h"

namespace perennial::common {
namespace {

// As ALPN writes it, behind its length.
constexpr std::string_view protocol =
    "\x09"
    "beanstalk";

Status bad(const std::string& path, const char* what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  Status status(StatusCode::InvalidArgument,
                fmt::format("{}: {}: {}", path, what, reason != nullptr ? reason : "no such file"));
  ERR_clear_error();
  return status;
}

Status set_authorities(SSL_CTX& context, const std::string& path) {
  const bool done = path.empty() ? SSL_CTX_set_default_verify_paths(&context) == 1
                                 : SSL_CTX_load_verify_file(&context, path.c_str()) == 1;
  return done ? Status() : bad(path, "holds no CA that can be used");
}

Status set_certificate(SSL_CTX& context, const TlsClientSettings& settings) {
  if (settings.certificate.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(&context, settings.certificate.c_str()) != 1) {
    return bad(settings.certificate, "holds no certificate that can be used");
  }
  if (SSL_CTX_use_PrivateKey_file(&context, settings.key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return bad(settings.key, "holds no key of the certificate");
  }
  return {};
}

Status check_combination(const TlsClientSettings& settings) {
  const bool has_file =
      !settings.ca.empty() || !settings.certificate.empty() || !settings.key.empty();
  if (!settings.is_on && has_file) {
    return {StatusCode::InvalidArgument, "--ca, --certificate and --key need --tls"};
  }
  if (settings.certificate.empty() != settings.key.empty()) {
    return {StatusCode::InvalidArgument, "--certificate and --key need each other"};
  }
  return {};
}

}  // namespace

TlsClient::TlsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsClient::TlsClient(TlsClient&&) noexcept = default;
TlsClient& TlsClient::operator=(TlsClient&&) noexcept = default;
TlsClient::~TlsClient() = default;

Result<std::optional<TlsClient>> TlsClient::load_if_on(const TlsClientSettings& settings) {
  if (Status s = check_combination(settings); !s.ok()) return s;
  if (!settings.is_on) return std::optional<TlsClient>();
  auto impl = std::make_unique<Impl>();
  impl->context.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* const context = impl->context.get();
  CHECK(context != nullptr);
  CHECK(SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  const auto* const name = reinterpret_cast<const unsigned char*>(protocol.data());
  CHECK(SSL_CTX_set_alpn_protos(context, name, protocol.size()) == 0);
  // No terminal is asked for the password of a key.
  SSL_CTX_set_default_passwd_cb(context, [](char*, int, int, void*) { return -1; });
  if (Status s = set_authorities(*context, settings.ca); !s.ok()) return s;
  if (Status s = set_certificate(*context, settings); !s.ok()) return s;
  return std::optional(TlsClient(std::move(impl)));
}

}  // namespace perennial::common
