#pragma once

#include <ctime>
#include <memory>
#include <string>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// What the files of this folder share about OpenSSL. No other folder includes this.
namespace perennial::perenniald {

template <auto free>
struct OpensslFree {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free>>;
using SslPtr = std::unique_ptr<SSL, OpensslFree<SSL_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, OpensslFree<X509_free>>;
using CrlPtr = std::unique_ptr<X509_CRL, OpensslFree<X509_CRL_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;

// The newest error of OpenSSL in words, and clears its list of errors. `otherwise` is used when
// OpenSSL has none.
std::string take_openssl_error(const char* otherwise);

// Whether the certificate is valid now, by its dates. OpenSSL checks dates by the wall clock, so
// this does, too.
enum class Validity { Valid, Future, Expired };
Validity validity_of(const X509& certificate);
// A time of a certificate, "2026-11-23 10:00:00 UTC".
std::string time_text(const ASN1_TIME* time);
// The same in seconds since the epoch; 0 if it cannot be read.
std::time_t seconds_of(const ASN1_TIME* time);

}  // namespace perennial::perenniald
