#include "cmd/common/peer/peer_request.h"

#include <fstream>

#include <fmt/format.h>

#include "cmd/common/private_file.h"
#include "engine/types/check.h"

namespace perennial::common {

std::string peer_url(const PeerAccess& access, std::string_view address, std::string_view path) {
  return fmt::format("{}://{}{}", access.ca_file.empty() ? "http" : "https", address, path);
}

Result<HttpFields> set_peer_access(CURL* request, const PeerAccess& access) {
  const auto set = [request](CURLoption option, const auto* value) {
    CHECK(curl_easy_setopt(request, option, value) == CURLE_OK);
  };
  for (const std::string& secret : {access.key_file, access.token_file}) {
    if (Status is_private = check_private(secret); !is_private.ok()) return is_private;
  }
  set(CURLOPT_PROXY, "");
  if (!access.ca_file.empty()) {
    set(CURLOPT_CAINFO, access.ca_file.c_str());
    // Debian's curl trusts the CAs of this directory, too, which is /etc/ssl/certs.
    set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));
  }
  if (!access.certificate_file.empty()) {
    set(CURLOPT_SSLCERT, access.certificate_file.c_str());
    set(CURLOPT_SSLKEY, access.key_file.c_str());
  }
  HttpFields fields(nullptr, curl_slist_free_all);
  if (access.token_file.empty()) return fields;
  std::ifstream file(access.token_file);
  std::string token;
  if (!std::getline(file, token) || token.empty()) {
    return Status(StatusCode::InvalidArgument,
                  fmt::format("cluster.peer_token_file: {} has no token in its first line, or "
                              "cannot be read",
                              access.token_file));
  }
  fields.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + token).c_str()));
  set(CURLOPT_HTTPHEADER, fields.get());
  return fields;
}

}  // namespace perennial::common
