#include "cmd/common/tls/tls_protocol.h"

#include <string>

#include "cmd/common/tls/tls_client_impl.h"
#include "engine/types/check.h"

namespace perennial::common {

void set_tls_protocol(const TlsClient& client, std::string_view name) {
  constexpr size_t name_bytes_max = 255;
  CHECK(!name.empty());
  CHECK(name.size() <= name_bytes_max);
  const std::string names = static_cast<char>(name.size()) + std::string(name);
  CHECK(SSL_CTX_set_alpn_protos(client.impl().context.get(),
                                reinterpret_cast<const unsigned char*>(names.data()),
                                static_cast<unsigned>(names.size())) == 0);
}

}  // namespace perennial::common
