#include "store/etcd/call_failure.h"

#include <algorithm>
#include <iterator>

namespace perennial::store::etcd {
namespace {

using Code = grpc::StatusCode;

constexpr std::string_view etcd_prefix = "etcdserver: ";

struct Known {
  Code code;
  std::string_view message;
  CallFailure failure;
};
// The messages are from api/v3rpc/rpctypes/error.go in etcd; the third is of etcd's gRPC, which
// limits a request as well. It must not be mistaken for the error of our own gRPC when a response
// is too large for us (channels.h), which has another wording: that call was executed.
constexpr Known known_failures[] = {
    {Code::RESOURCE_EXHAUSTED,
     "etcdserver: mvcc: database space exceeded",
     {.error = CallError::NoSpace}},
    {Code::INVALID_ARGUMENT, "etcdserver: request is too large", {.error = CallError::TooLarge}},
    {Code::RESOURCE_EXHAUSTED,
     "grpc: received message larger than max",
     {.error = CallError::TooLarge}},
    {Code::OUT_OF_RANGE,
     "etcdserver: mvcc: required revision has been compacted",
     {.error = CallError::Compacted}},
    {Code::NOT_FOUND, "etcdserver: requested lease not found", {.error = CallError::LeaseNotFound}},
    {Code::PERMISSION_DENIED,
     "etcdserver: permission denied",
     {.error = CallError::Denied, .is_forbidden = true}},
    {Code::INVALID_ARGUMENT, "etcdserver: authentication failed", {.error = CallError::Denied}},
    // The answer to a call without a token.
    {Code::INVALID_ARGUMENT,
     "etcdserver: user name is empty",
     {.error = CallError::Denied, .is_token_invalid = true}},
    {Code::UNAUTHENTICATED, "etcdserver: invalid auth token", {.is_token_invalid = true}},
    // Permissions have changed since the token was issued. etcd 3.4 has no code of its own for
    // that.
    {Code::INVALID_ARGUMENT,
     "etcdserver: revision of auth store is old",
     {.is_token_invalid = true}},
    {Code::UNKNOWN, "auth: revision in header is old", {.is_token_invalid = true}},
};

}  // namespace

CallFailure call_failure(const grpc::Status& status) {
  CHECK(!status.ok());
  const std::string& message = status.error_message();
  const auto* const known =
      std::find_if(std::begin(known_failures), std::end(known_failures), [&](const Known& one) {
        return one.code == status.error_code() && message.starts_with(one.message);
      });
  if (known != std::end(known_failures)) return known->failure;
  const bool is_refused =
      status.error_code() == Code::INVALID_ARGUMENT || status.error_code() == Code::OUT_OF_RANGE;
  if (is_refused && message.starts_with(etcd_prefix)) return {.error = CallError::Invalid};
  return {};
}

bool is_authentication_off(const grpc::Status& status) {
  return status.error_code() == Code::FAILED_PRECONDITION &&
         status.error_message() == "etcdserver: authentication is not enabled";
}

}  // namespace perennial::store::etcd
