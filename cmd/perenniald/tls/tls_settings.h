#pragma once

#include <cstdint>
#include <string>

namespace perennial::perenniald {

// Whether clients show a certificate. None: they are not asked. Request: they may, and one that is
// shown must be good. Require: without one there is no connection.
enum class ClientCertificate : uint8_t { None, Request, Require };

// The files of one listener, all in PEM.
struct TlsSettings {
  std::string certificate = {};  // The server's own, then those between it and its CA.
  std::string key = {};          // Of the certificate, without a password.
  std::string client_ca = {};    // The CAs of the clients. Empty: clients are not asked.
  std::string crl = {};          // The revocation lists of these CAs. Empty: none is used.
  ClientCertificate client = ClientCertificate::None;
  // What is spoken over it, as ALPN names it: "beanstalk" or "http/1.1".
  std::string protocol = "beanstalk";

  bool operator==(const TlsSettings&) const = default;
};

}  // namespace perennial::perenniald
