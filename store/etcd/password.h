#pragma once

#include <map>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/etcd/grpc_client.h"

namespace perennial::store::etcd {

// A refused password is not tried again for so long: etcd uses a slow hash on purpose, and callers
// that wait for a token retry after a few milliseconds.
inline constexpr Nanos password_retry_interval = 2 * nanos_per_second;

// Chooses the password for etcd. A rotation changes the file and etcd's own record at two moments,
// in either order. So the file is read again for each token, and while etcd refuses the password in
// it, the last one that etcd accepted is used.
class Password {
 public:
  // InvalidArgument: the file cannot be read, or has no password.
  static Result<std::string> read(const GrpcClientOptions& options);

  // The password to use now. InvalidArgument: the file has none, or all known ones were refused
  // within password_retry_interval.
  Result<std::string> next(const GrpcClientOptions& options, Nanos now);
  // etcd has accepted it. Returns whether that is news: it differs from before, or was refused.
  bool taken(const std::string& password);
  // etcd has refused it. Returns whether that is news: it is in the file, and was not refused
  // before.
  bool refused(const std::string& password, Nanos now);
  // Lets all passwords be tried again at once.
  void forget_refusals() { refused_until_.clear(); }

 private:
  bool may_try(const std::string& password, Nanos now) const;

  std::string taken_;    // The last one that etcd accepted. Empty: none yet.
  std::string refused_;  // The refused one in the file. Empty: none since the last accepted one.
  bool is_fallback_ = false;  // next() returned taken_ and not the one in the file.
  std::map<std::string, Nanos> refused_until_;
};

}  // namespace perennial::store::etcd
