#pragma once

#include <string>

#include "engine/types/status.h"
#include "store/etcd/grpc_client.h"

namespace perennial::store::etcd {

// The contents of the files that a client's options name, in PEM. Empty: there is no such file.
struct TlsFiles {
  std::string ca;
  std::string certificate;
  std::string key;

  bool operator==(const TlsFiles&) const = default;
};

// Io: one of them cannot be read, or is empty. InvalidArgument: a certificate without a key, or the
// other way round.
Result<TlsFiles> read_tls_files(const GrpcClientOptions& options);
// The same for files that replace `used`: files that differ are also checked by `check_files`, and
// are refused if they change during the check.
Result<TlsFiles> read_tls_files(const GrpcClientOptions& options, const TlsFiles& used);

}  // namespace perennial::store::etcd
