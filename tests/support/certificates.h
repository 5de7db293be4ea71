#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace perennial::support {

// What a certificate says. The names are raw bytes, so a test may put a NUL into one.
struct CertificateFacts {
  std::string common_name = "test";
  std::vector<std::string> uris = {};
  std::vector<std::string> dns = {};
  std::vector<std::string> ips = {};
  std::string usage = {};  // "serverAuth" or "clientAuth". Empty: any.
  bool is_ca = false;
  int64_t begins_s = -3'600;  // From now.
  int64_t ends_s = 86'400;
};

// Both in PEM.
struct Certificate {
  std::string certificate;
  std::string key;
  uint64_t serial = 0;
};

// A CA that issues certificates with P-256 keys.
class Authority {
 public:
  explicit Authority(const std::string& name = "test CA");

  // The CA's own certificate.
  const std::string& certificate() const { return own_.certificate; }
  Certificate issue(const CertificateFacts& facts);
  // A revocation list in PEM of these certificates.
  std::string revocation_list(const std::vector<uint64_t>& serials, int64_t ends_s = 86'400) const;

 private:
  Certificate own_;
};

// One that no CA has issued.
Certificate self_signed(const CertificateFacts& facts);
// Writes a file with these rights, 0600 by default.
void write_file(const std::string& path, const std::string& content, unsigned mode = 0600);

}  // namespace perennial::support
