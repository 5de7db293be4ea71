#include "cmd/perenniald/tls/certificate_checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <openssl/err.h>

#include "cmd/perenniald/tls/pem_files.h"

namespace perennial::perenniald {

Status check_dates(const X509& certificate, const std::string& path) {
  switch (validity_of(certificate)) {
    case Validity::Expired:
      return bad_file(path, fmt::format("expired at {}: renew it",
                                        time_text(X509_get0_notAfter(&certificate))));
    case Validity::Future:
      return bad_file(path, fmt::format("is not valid before {}: wait, or correct the clock",
                                        time_text(X509_get0_notBefore(&certificate))));
    case Validity::Valid:
      break;
  }
  return {};
}

Status check_pair(const X509& certificate, const std::string& certificate_path, const EVP_PKEY& key,
                  const std::string& key_path) {
  if (X509_check_private_key(&certificate, &key) == 1) return {};
  ERR_clear_error();
  return bad_file(key_path,
                  fmt::format("is not the key of the first certificate in {}", certificate_path));
}

Status check_any_valid(const std::vector<X509Ptr>& authorities, const std::string& path) {
  const bool any = std::ranges::any_of(authorities, [](const X509Ptr& authority) {
    return validity_of(*authority) == Validity::Valid;
  });
  return any ? Status() : bad_file(path, "all of its certificates have expired: renew them");
}

}  // namespace perennial::perenniald
