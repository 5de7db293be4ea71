#pragma once

#include <string>
#include <vector>

namespace perennial::perenniald {

// The names in the certificate that a client has proved to own. Each is a whole string, never a
// pattern, and holds printable UTF-8 only. The order of the members is the order in which a name is
// looked for; the first kind that a certificate has decides.
struct PeerIdentity {
  std::vector<std::string> uris;  // URI entries of subjectAltName.
  std::vector<std::string> dns;   // DNS entries of subjectAltName.
  std::string common_name;        // The last CN of the subject. Empty: it has none.
};

}  // namespace perennial::perenniald
