#include "store/etcd/call_failure.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::store::etcd {
namespace {

struct FailureCase {
  grpc::StatusCode code;
  std::string message;
  CallError error = CallError::Unknown;
  bool is_token_invalid = false;
};

TEST(CallFailure, OnlyEtcdsOwnWordsSayMoreThanUnknown) {
  using grpc::StatusCode;
  const FailureCase cases[] = {
      {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded",
       CallError::NoSpace},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: request is too large", CallError::TooLarge},
      {StatusCode::RESOURCE_EXHAUSTED, "grpc: received message larger than max (3 vs. 2)",
       CallError::TooLarge},
      {StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted",
       CallError::Compacted},
      {StatusCode::OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision",
       CallError::Invalid},
      {StatusCode::NOT_FOUND, "etcdserver: requested lease not found", CallError::LeaseNotFound},
      {StatusCode::PERMISSION_DENIED, "etcdserver: permission denied", CallError::Denied},
      {StatusCode::INVALID_ARGUMENT,
       "etcdserver: authentication failed, invalid user ID or password", CallError::Denied},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: user name is empty", CallError::Denied, true},
      {StatusCode::UNAUTHENTICATED, "etcdserver: invalid auth token", CallError::Unknown, true},
      {StatusCode::UNKNOWN, "auth: revision in header is old", CallError::Unknown, true},
      {StatusCode::INVALID_ARGUMENT, "etcdserver: key is not provided", CallError::Invalid},
      // All of these may have happened.
      {StatusCode::UNAVAILABLE, "etcdserver: leader changed"},
      {StatusCode::UNAVAILABLE, "etcdserver: request timed out"},
      {StatusCode::UNAVAILABLE, "failed to connect to all addresses"},
      {StatusCode::DEADLINE_EXCEEDED, "Deadline Exceeded"},
      {StatusCode::RESOURCE_EXHAUSTED, "etcdserver: too many requests"},
      // Our own limit, at an answer to what was done.
      {StatusCode::RESOURCE_EXHAUSTED, "Received message larger than max (3 vs. 2)"},
      // Not etcd, but something on the way to it.
      {StatusCode::PERMISSION_DENIED, "Received http2 header with status: 403"},
      {StatusCode::INVALID_ARGUMENT, "proxy: request is too large"},
      {StatusCode::NOT_FOUND, "requested lease not found"},
      {StatusCode::INTERNAL, "etcdserver: request is too large"},
  };
  for (const FailureCase& c : cases) {
    const CallFailure failure = call_failure(grpc::Status(c.code, c.message));
    EXPECT_EQ(name_of(failure.error), name_of(c.error)) << c.message;
    EXPECT_EQ(failure.is_token_invalid, c.is_token_invalid) << c.message;
    EXPECT_EQ(failure.is_forbidden, c.message == "etcdserver: permission denied") << c.message;
  }
}

}  // namespace
}  // namespace perennial::store::etcd
