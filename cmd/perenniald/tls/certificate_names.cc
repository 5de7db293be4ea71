#include "cmd/perenniald/tls/certificate_names.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <openssl/x509v3.h>

namespace perennial::perenniald {
namespace {

using NamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

bool is_printable(std::string_view text) {
  return !text.empty() &&
         std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

// In UTF-8, which OpenSSL checks.
std::optional<std::string> text_of(const ASN1_STRING* string) {
  unsigned char* utf8 = nullptr;
  const int bytes = ASN1_STRING_to_UTF8(&utf8, string);
  if (bytes < 0) return std::nullopt;
  std::string text(reinterpret_cast<char*>(utf8), static_cast<size_t>(bytes));
  OPENSSL_free(utf8);
  if (!is_printable(text)) return std::nullopt;
  return text;
}

// Subject alternative names. Those of other types name nobody here.
bool add_alternative_names(const X509& certificate, PeerIdentity& out) {
  int critical = 0;
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, &critical, nullptr)));
  // -1: there are none. Anything else is an extension that cannot be read, or that is there twice.
  if (names == nullptr) return critical == -1;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    std::optional<std::string> text = text_of(name->d.ia5);
    if (!text) return false;
    (name->type == GEN_URI ? out.uris : out.dns).push_back(std::move(*text));
  }
  return true;
}

bool add_common_name(const X509& certificate, PeerIdentity& out) {
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_commonName, at)) >= 0;) {
    std::optional<std::string> text =
        text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (!text) return false;
    out.common_name = std::move(*text);
  }
  return true;
}

}  // namespace

std::optional<PeerIdentity> names_of(const X509& certificate) {
  PeerIdentity out;
  if (!add_alternative_names(certificate, out) || !add_common_name(certificate, out)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace perennial::perenniald
