#include "tests/support/certificates.h"

#include <atomic>
#include <ctime>
#include <fstream>
#include <memory>

#include <arpa/inet.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

template <auto free>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Free<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, Free<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;

uint64_t next_serial() {
  static std::atomic<uint64_t> serial = 1;
  return serial++;
}

std::string text_of(BIO& bio) {
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(&bio, &bytes);
  return {bytes, static_cast<size_t>(count)};
}

template <typename Write>
std::string to_pem(Write write) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  CHECK(write(bio.get()) == 1);
  return text_of(*bio);
}

BioPtr reading(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

void add_extension(X509& certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, &certificate, &certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  CHECK(extension != nullptr);
  CHECK(X509_add_ext(&certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

void add_name(GENERAL_NAMES& names, int type, const std::string& bytes) {
  ASN1_STRING* const text = type == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
  CHECK(ASN1_STRING_set(text, bytes.data(), static_cast<int>(bytes.size())) == 1);
  GENERAL_NAME* const name = GENERAL_NAME_new();
  GENERAL_NAME_set0_value(name, type, text);
  CHECK(sk_GENERAL_NAME_push(&names, name) > 0);
}

void add_names(X509& certificate, const CertificateFacts& facts) {
  GENERAL_NAMES* const names = GENERAL_NAMES_new();
  for (const std::string& uri : facts.uris) add_name(*names, GEN_URI, uri);
  for (const std::string& dns : facts.dns) add_name(*names, GEN_DNS, dns);
  for (const std::string& ip : facts.ips) {
    in_addr address{};
    CHECK(inet_pton(AF_INET, ip.c_str(), &address) == 1);
    add_name(*names, GEN_IPADD, {reinterpret_cast<const char*>(&address), sizeof address});
  }
  if (sk_GENERAL_NAME_num(names) > 0) {
    CHECK(X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names, 0, 0) == 1);
  }
  GENERAL_NAMES_free(names);
}

// Signed by the issuer, or by itself if there is none.
Certificate make(const CertificateFacts& facts, const Certificate* issuer) {
  const KeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr certificate(X509_new());
  const uint64_t serial = next_serial();
  CHECK(X509_set_version(certificate.get(), X509_VERSION_3) == 1);
  CHECK(ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial) == 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), facts.begins_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), facts.ends_s);
  X509_NAME* const subject = X509_get_subject_name(certificate.get());
  if (!facts.common_name.empty()) {
    CHECK(
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(facts.common_name.data()),
                                   static_cast<int>(facts.common_name.size()), -1, 0) == 1);
  }
  CHECK(X509_set_pubkey(certificate.get(), key.get()) == 1);
  add_extension(*certificate, NID_basic_constraints,
                facts.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (facts.is_ca) add_extension(*certificate, NID_key_usage, "critical,keyCertSign,cRLSign");
  if (!facts.usage.empty()) add_extension(*certificate, NID_ext_key_usage, facts.usage);
  add_names(*certificate, facts);
  KeyPtr issuer_key;
  X509Ptr issuer_certificate;
  if (issuer != nullptr) {
    issuer_key.reset(
        PEM_read_bio_PrivateKey(reading(issuer->key).get(), nullptr, nullptr, nullptr));
    issuer_certificate.reset(
        PEM_read_bio_X509(reading(issuer->certificate).get(), nullptr, nullptr, nullptr));
  }
  const X509* const signer = issuer != nullptr ? issuer_certificate.get() : certificate.get();
  CHECK(X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer)) == 1);
  CHECK(X509_sign(certificate.get(), issuer != nullptr ? issuer_key.get() : key.get(),
                  EVP_sha256()) > 0);
  return {
      .certificate = to_pem([&](BIO* out) { return PEM_write_bio_X509(out, certificate.get()); }),
      .key = to_pem([&](BIO* out) {
        return PEM_write_bio_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
      }),
      .serial = serial};
}

}  // namespace

Authority::Authority(const std::string& name)
    : own_(make({.common_name = name, .is_ca = true}, nullptr)) {}

Certificate Authority::issue(const CertificateFacts& facts) {
  return make(facts, &own_);
}

std::string Authority::revocation_list(const std::vector<uint64_t>& serials, int64_t ends_s) const {
  const std::unique_ptr<X509_CRL, Free<X509_CRL_free>> list(X509_CRL_new());
  const X509Ptr issuer(
      PEM_read_bio_X509(reading(own_.certificate).get(), nullptr, nullptr, nullptr));
  const KeyPtr key(PEM_read_bio_PrivateKey(reading(own_.key).get(), nullptr, nullptr, nullptr));
  CHECK(X509_CRL_set_version(list.get(), X509_CRL_VERSION_2) == 1);
  CHECK(X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer.get())) == 1);
  ASN1_TIME* const time = ASN1_TIME_new();
  X509_gmtime_adj(time, -3'600);
  CHECK(X509_CRL_set1_lastUpdate(list.get(), time) == 1);
  for (const uint64_t serial : serials) {
    X509_REVOKED* const revoked = X509_REVOKED_new();
    ASN1_INTEGER* const number = ASN1_INTEGER_new();
    CHECK(ASN1_INTEGER_set_uint64(number, serial) == 1);
    CHECK(X509_REVOKED_set_serialNumber(revoked, number) == 1);
    CHECK(X509_REVOKED_set_revocationDate(revoked, time) == 1);
    CHECK(X509_CRL_add0_revoked(list.get(), revoked) == 1);
    ASN1_INTEGER_free(number);
  }
  X509_gmtime_adj(time, ends_s);
  CHECK(X509_CRL_set1_nextUpdate(list.get(), time) == 1);
  ASN1_TIME_free(time);
  CHECK(X509_CRL_sign(list.get(), key.get(), EVP_sha256()) > 0);
  return to_pem([&](BIO* out) { return PEM_write_bio_X509_CRL(out, list.get()); });
}

Certificate self_signed(const CertificateFacts& facts) {
  return make(facts, nullptr);
}

void write_file(const std::string& path, const std::string& content, unsigned mode) {
  {
    std::ofstream file(path, std::ios::trunc);
    CHECK((file << content).flush().good());
  }
  CHECK(chmod(path.c_str(), mode) == 0);
}

}  // namespace perennial::support
