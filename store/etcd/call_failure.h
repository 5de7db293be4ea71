#pragma once

#include <grpcpp/support/status.h>

#include "store/etcd/etcd.h"

namespace perennial::store::etcd {

// What the answer to a call that failed says.
struct CallFailure {
  CallError error = CallError::Unknown;
  // etcd does not know the call's token any more, and has done nothing. The error is Unknown, so
  // that the caller looks and repeats the call, which then has a new token.
  bool is_token_invalid = false;
  // The user who calls may not do it. Without a token that is whom a client's certificate names.
  bool is_forbidden = false;
  // Only etcd's own words prove that it did nothing. All else is Unknown: what gRPC itself says of
  // a call, and errors that etcd gives when it has given up waiting.
};
// REQUIRES: the status is not OK.
CallFailure call_failure(const grpc::Status& status);
// The user is set, and etcd wants none.
bool is_authentication_off(const grpc::Status& status);

}  // namespace perennial::store::etcd
