#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/tls/openssl.h"
#include "engine/types/status.h"

// What may be wrong with certificates and keys that could be read. InvalidArgument: each message
// names the file and says what to do.
namespace perennial::perenniald {

// Whether the certificate is valid now.
Status check_dates(const X509& certificate, const std::string& path);
// Whether the key belongs to the certificate.
Status check_pair(const X509& certificate, const std::string& certificate_path, const EVP_PKEY& key,
                  const std::string& key_path);
// Whether one of the CAs, at least, is valid now.
Status check_any_valid(const std::vector<X509Ptr>& authorities, const std::string& path);

}  // namespace perennial::perenniald
