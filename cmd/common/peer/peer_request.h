#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <curl/curl.h>

#include "cmd/common/peer/peer_access.h"
#include "engine/types/status.h"

// A request to a node of a cluster, by another node or by the tool. Only a program with clusters
// has it.
namespace perennial::common {

// `address`: HOST:PORT. `path` begins with a slash.
std::string peer_url(const PeerAccess& access, std::string_view address, std::string_view path);

using HttpFields = std::unique_ptr<curl_slist, void (*)(curl_slist*)>;
// Makes the request show what `access` names, trust its CAs and no others, and use no proxy,
// because nodes reach each other. Returns its header fields, which must outlive the transfer.
// InvalidArgument: the file of the token cannot be read, or has none in its first line. Another
// file that cannot be used is an error of the transfer, which names it.
Result<HttpFields> set_peer_access(CURL* request, const PeerAccess& access);

}  // namespace perennial::common
