#include "cmd/common/secret.h"

#include <openssl/crypto.h>

namespace perennial::common {

void wipe(std::span<char> bytes) {
  OPENSSL_cleanse(bytes.data(), bytes.size());
}

}  // namespace perennial::common
