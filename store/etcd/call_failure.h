#pragma once

#include <grpcpp/support/status.h>

#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// What the status of a failed call proves.
struct CallFailure {
  CallError error = CallError::Unknown;
  // etcd does not accept the call's token any more, and has done nothing. The error is Unknown, so
  // that the caller reads and retries as after any unknown outcome, then with a new token.
  bool is_token_invalid = false;
  // The user lacks the permission. Without a token the user is the one that the client's
  // certificate names.
  bool is_forbidden = false;
  // Only etcd's own messages prove that it did nothing. Everything else is Unknown: errors of gRPC
  // itself, and those that etcd returns when it stops waiting for consensus.
};
// REQUIRES: the status is not OK.
CallFailure call_failure(const grpc::Status& status);
// A user is set, and etcd has authentication switched off.
bool is_authentication_off(const grpc::Status& status);

}  // namespace perennial::store::etcd
