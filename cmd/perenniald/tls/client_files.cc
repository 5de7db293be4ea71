#include "cmd/perenniald/tls/client_files.h"

#include <vector>

#include "cmd/perenniald/tls/certificate_checks.h"
#include "cmd/perenniald/tls/pem_files.h"

namespace perennial::perenniald {

Status check_client_files(const ClientFiles& files) {
  if (!files.authorities.empty()) {
    const Result<std::vector<X509Ptr>> authorities = read_certificates(files.authorities);
    if (!authorities.ok()) return authorities.status();
    if (Status s = check_any_valid(*authorities, files.authorities); !s.ok()) return s;
  }
  if (files.certificate.empty()) return {};
  const Result<KeyPtr> key = read_key(files.key);
  if (!key.ok()) return key.status();
  const Result<std::vector<X509Ptr>> chain = read_certificates(files.certificate);
  if (!chain.ok()) return chain.status();
  const X509& own = *chain->front();
  if (Status s = check_dates(own, files.certificate); !s.ok()) return s;
  return check_pair(own, files.certificate, **key, files.key);
}

}  // namespace perennial::perenniald
