#pragma once

#include <map>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/etcd/grpc_client.h"

namespace perennial::store::etcd {

// One that etcd has refused is not tried again for so long: etcd hashes passwords slowly on
// purpose, and whoever waits for a token tries again after a few milliseconds.
inline constexpr Nanos password_retry_interval = 2 * nanos_per_second;

// Which password is shown to etcd. A rotation changes the file and etcd's own record at two
// moments, in either order: so the file is read again for each token, and while etcd refuses what
// it holds, the one that etcd took last is tried.
class Password {
 public:
  // InvalidArgument: the file cannot be read, or has no password.
  static Result<std::string> read(const GrpcClientOptions& options);

  // The one to show now. InvalidArgument: the file has none, or what there is was refused a moment
  // ago.
  Result<std::string> next(const GrpcClientOptions& options, Nanos now);
  // etcd has taken it. Returns whether that is news: it is another than before, or was refused.
  bool taken(const std::string& password);
  // etcd has refused it. Returns whether that is news: it is what the file holds, and was not
  // refused before.
  bool refused(const std::string& password, Nanos now);
  // All may be tried again at once.
  void forget_refusals() { refused_until_.clear(); }

 private:
  bool may_try(const std::string& password, Nanos now) const;

  std::string taken_;         // Empty: none yet.
  std::string refused_;       // That was in the file. Empty: none since one was taken.
  bool is_fallback_ = false;  // next() gave the one that was taken last, and not that of the file.
  std::map<std::string, Nanos> refused_until_;
};

}  // namespace perennial::store::etcd
