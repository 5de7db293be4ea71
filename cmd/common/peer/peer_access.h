#pragma once

#include <string>

namespace perennial::common {

// What a node of a cluster uses when it asks another one at its HTTP port. All are paths of files.
struct PeerAccess {
  std::string ca_file = {};           // In PEM. Empty: HTTP without TLS.
  std::string certificate_file = {};  // In PEM, what this node shows. Empty: none is shown.
  std::string key_file = {};          // In PEM, without a passphrase: of the certificate.
  std::string token_file = {};        // Its first line is a token. Empty: none is shown.
};

}  // namespace perennial::common
