#include "cmd/perenniald/tls/openssl.h"

#include <fmt/format.h>
#include <openssl/err.h>

namespace perennial::perenniald {

std::string take_openssl_error(const char* otherwise) {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  std::string text = reason != nullptr ? reason : otherwise;
  ERR_clear_error();
  return text;
}

Validity validity_of(const X509& certificate) {
  if (X509_cmp_current_time(X509_get0_notBefore(&certificate)) >= 0) return Validity::Future;
  if (X509_cmp_current_time(X509_get0_notAfter(&certificate)) <= 0) return Validity::Expired;
  return Validity::Valid;
}

std::string time_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "?";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", parts.tm_year + 1900,
                     parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::time_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

}  // namespace perennial::perenniald
