#include "cmd/perenniald/tls/tls_context.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "cmd/perenniald/tls/certificate_checks.h"
#include "cmd/perenniald/tls/certificate_names.h"
#include "cmd/perenniald/tls/pem_files.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Certificates between a client's own and a CA.
constexpr int chain_depth_max = 4;
constexpr long client_chain_bytes_max = 32 << 10;

// ---- What connections may do.

// As ALPN writes them, behind their length.
constexpr std::string_view beanstalk =
    "\x09"
    "beanstalk";
constexpr std::string_view http =
    "\x08"
    "http/1.1";

// A client that offers protocols must offer ours. A browser always offers some, so no web page
// reaches the queue. A client that offers none is an older one. `ours` is one of the two above.
int select_protocol(SSL* /*ssl*/, const unsigned char** out, unsigned char* out_bytes,
                    const unsigned char* offered, unsigned offered_bytes, void* ours) {
  const std::string_view name = *static_cast<const std::string_view*>(ours);
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_bytes, reinterpret_cast<const unsigned char*>(name.data()),
                            static_cast<unsigned>(name.size()), offered, offered_bytes);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

// Besides what OpenSSL checks, the names of a client's certificate must be readable.
int verify_client(int good, X509_STORE_CTX* chain) {
  if (good != 1 || X509_STORE_CTX_get_error_depth(chain) != 0) return good;
  if (names_of(*X509_STORE_CTX_get_current_cert(chain))) return 1;
  X509_STORE_CTX_set_error(chain, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

void set_rules(SSL_CTX& context, const std::string& protocol) {
  CHECK(SSL_CTX_set_min_proto_version(&context, TLS1_2_VERSION) == 1);
  SSL_CTX_set_options(&context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                    SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                    SSL_OP_CLEANSE_PLAINTEXT);
  // Of TLS 1.2. All suites of TLS 1.3 are of this kind.
  CHECK(SSL_CTX_set_cipher_list(&context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1);
  CHECK(SSL_CTX_set1_groups_list(&context, "X25519:P-256:P-384") == 1);
  // Early data can be sent twice by whoever records it, and a put that comes twice is two jobs.
  CHECK(SSL_CTX_set_max_early_data(&context, 0) == 1);
  SSL_CTX_set_mode(&context, SSL_MODE_RELEASE_BUFFERS);
  CHECK(protocol == beanstalk.substr(1) || protocol == http.substr(1));
  const std::string_view& ours = protocol == http.substr(1) ? http : beanstalk;
  SSL_CTX_set_alpn_select_cb(&context, select_protocol, const_cast<std::string_view*>(&ours));
}

// ---- Sessions.

const TicketKeys& keys_of(SSL* ssl) {
  return *static_cast<const TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

bool set_mac_key(EVP_MAC_CTX* mac, const TicketKeys::Key& key) {
  char digest[] = "SHA256";
  std::array<unsigned char, 32> bytes = key.mac;
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, bytes.data(), bytes.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const bool is_set = EVP_MAC_CTX_set_params(mac, params) == 1;
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return is_set;
}

// Sets the key for a ticket that is written or read. 0: the ticket is not known. 1: it is good. 2:
// it is good, and the client gets a new one.
int set_ticket_key(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                   EVP_MAC_CTX* mac, int writing) {
  const TicketKeys& keys = keys_of(ssl);
  const std::optional<TicketKeys::Copy> found = writing != 0 ? keys.current() : keys.find(name);
  if (!found) return 0;
  const TicketKeys::Key& key = found->key;
  if (writing != 0) {
    std::memcpy(name, key.name.data(), key.name.size());
    if (RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
  }
  const bool is_set = EVP_CipherInit_ex(cipher, EVP_aes_256_cbc(), nullptr, key.cipher.data(), iv,
                                        writing != 0 ? 1 : 0) == 1 &&
                      set_mac_key(mac, key);
  if (!is_set) return -1;
  return found->is_current ? 1 : 2;
}

// A resumed session does not verify the client's certificate again, so one that has expired since
// then begins anew. A revoked one has no ticket: a new revocation list renews the keys.
SSL_TICKET_RETURN check_ticket(SSL* /*ssl*/, SSL_SESSION* session, const unsigned char* /*name*/,
                               size_t /*name_bytes*/, SSL_TICKET_STATUS status, void* /*unused*/) {
  if (status != SSL_TICKET_SUCCESS && status != SSL_TICKET_SUCCESS_RENEW) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  const X509* const client = SSL_SESSION_get0_peer(session);
  if (client != nullptr && validity_of(*client) != Validity::Valid) {
    return SSL_TICKET_RETURN_IGNORE_RENEW;
  }
  return status == SSL_TICKET_SUCCESS ? SSL_TICKET_RETURN_USE : SSL_TICKET_RETURN_USE_RENEW;
}

void set_sessions(SSL_CTX& context, const TicketKeys& keys, const std::string& session_context) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(&context, TicketKeys::key_time / nanos_per_second);
  CHECK(SSL_CTX_set_session_id_context(
            &context, reinterpret_cast<const unsigned char*>(session_context.data()),
            static_cast<unsigned>(session_context.size())) == 1);
  // The callbacks only read the keys.
  SSL_CTX_set_app_data(&context, const_cast<TicketKeys*>(&keys));
  CHECK(SSL_CTX_set_tlsext_ticket_key_evp_cb(&context, set_ticket_key) == 1);
  CHECK(SSL_CTX_set_session_ticket_cb(&context, nullptr, check_ticket, nullptr) == 1);
}

// ---- The server's certificate.

Status check_server_certificate(X509& certificate, const std::string& path) {
  if (Status s = check_dates(certificate, path); !s.ok()) return s;
  if (X509_check_purpose(&certificate, X509_PURPOSE_SSL_SERVER, 0) == 0) {
    return bad_file(path,
                    "is not for servers: its extended key usage must have serverAuth, or none");
  }
  return {};
}

Status set_certificate(SSL_CTX& context, const TlsSettings& settings, TlsContext& out) {
  Result<KeyPtr> key = read_key(settings.key);
  if (!key.ok()) return key.take_status();
  Result<std::vector<X509Ptr>> chain = read_certificates(settings.certificate);
  if (!chain.ok()) return chain.take_status();
  X509& own = *chain->front();
  if (Status s = check_server_certificate(own, settings.certificate); !s.ok()) return s;
  if (SSL_CTX_use_certificate(&context, &own) != 1) {
    return bad_file(settings.certificate, take_openssl_error("is refused by OpenSSL"));
  }
  for (size_t i = 1; i < chain->size(); ++i) {
    if (SSL_CTX_add1_chain_cert(&context, (*chain)[i].get()) != 1) {
      return bad_file(settings.certificate, take_openssl_error("is refused by OpenSSL"));
    }
  }
  if (Status s = check_pair(own, settings.certificate, **key, settings.key); !s.ok()) return s;
  if (SSL_CTX_use_PrivateKey(&context, key->get()) != 1) {
    return bad_file(settings.key, take_openssl_error("is refused by OpenSSL"));
  }
  out.certificate_end = time_text(X509_get0_notAfter(&own));
  out.certificate_end_at = seconds_of(X509_get0_notAfter(&own));
  return {};
}

// ---- Certificates of clients.

Status add_authorities(SSL_CTX& context, const std::string& path) {
  Result<std::vector<X509Ptr>> authorities = read_certificates(path);
  if (!authorities.ok()) return authorities.take_status();
  for (const X509Ptr& authority : *authorities) {
    if (X509_check_ca(authority.get()) == 0) {
      return bad_file(path, "holds a certificate that is none of a CA (basicConstraints CA:TRUE)");
    }
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(&context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(&context, authority.get()) != 1) {
      return bad_file(path, take_openssl_error("is refused by OpenSSL"));
    }
  }
  return check_any_valid(*authorities, path);
}

Status add_revocation_lists(SSL_CTX& context, const std::string& path,
                            std::vector<CrlPtr>& revocations) {
  Result<std::vector<CrlPtr>> lists = read_revocation_lists(path);
  if (!lists.ok()) return lists.take_status();
  X509_STORE* const store = SSL_CTX_get_cert_store(&context);
  for (const CrlPtr& list : *lists) {
    const ASN1_TIME* const end = X509_CRL_get0_nextUpdate(list.get());
    if (end != nullptr && X509_cmp_current_time(end) <= 0) {
      return bad_file(path, fmt::format("expired at {}: make a new one", time_text(end)));
    }
    if (X509_STORE_add_crl(store, list.get()) != 1) {
      return bad_file(path, take_openssl_error("is refused by OpenSSL"));
    }
  }
  CHECK(X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL) == 1);
  revocations = lists.take();
  return {};
}

Status set_clients(SSL_CTX& context, const TlsSettings& settings, TlsContext& out) {
  if (settings.client == ClientCertificate::None) return {};
  if (Status s = add_authorities(context, settings.client_ca); !s.ok()) return s;
  if (!settings.crl.empty()) {
    if (Status s = add_revocation_lists(context, settings.crl, out.revocations); !s.ok()) return s;
  }
  const bool required = settings.client == ClientCertificate::Require;
  SSL_CTX_set_verify(&context, SSL_VERIFY_PEER | (required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
                     verify_client);
  SSL_CTX_set_verify_depth(&context, chain_depth_max);
  SSL_CTX_set_max_cert_list(&context, client_chain_bytes_max);
  return {};
}

}  // namespace

Result<TlsContext> make_context(const TlsSettings& settings, const TicketKeys& keys,
                                const std::string& session_context) {
  TlsContext out{.context = ContextPtr(SSL_CTX_new(TLS_server_method())),
                 .certificate_end = {},
                 .certificate_end_at = 0,
                 .revocations = {}};
  CHECK(out.context != nullptr);
  set_rules(*out.context, settings.protocol);
  set_sessions(*out.context, keys, session_context);
  if (Status s = set_certificate(*out.context, settings, out); !s.ok()) return s;
  if (Status s = set_clients(*out.context, settings, out); !s.ok()) return s;
  return out;
}

}  // namespace perennial::perenniald
