#pragma once

#include <memory>

#include <openssl/ssl.h>

#include "cmd/common/tls/tls_client.h"

namespace perennial::common {

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

struct TlsClient::Impl {
  std::unique_ptr<SSL_CTX, FreeContext> context;
};

}  // namespace perennial::common
