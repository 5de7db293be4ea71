#pragma once

#include <functional>
#include <memory>
#include <string>

#include <grpc/support/time.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/async_unary_call.h>

#include "store/etcd/channels.h"
#include "store/etcd/etcd.pb.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::store::etcd {

// The base of all calls. A call owns itself: gRPC writes to it until its last operation has ended,
// which may be after the client was destroyed, and then it deletes itself.
struct GrpcCall {
  grpc::ClientContext context;
  grpc::Status status;
  std::shared_ptr<const Member> member;
  std::string token;          // The token that it was sent with. Empty: none.
  bool is_abandoned = false;  // The client is destroyed, and nobody waits for the result.
  Completion completion;

  // If `left` is negative, gRPC fails the call at once.
  void set_deadline_in(Nanos left) {
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left, GPR_TIMESPAN)));
  }
  void abandon() {
    is_abandoned = true;
    context.TryCancel();
  }
};

// One request, one response.
template <typename Response>
struct UnaryCall : GrpcCall {
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  Response response;
};

// etcd renews leases over a stream. Each of ours is for a single renewal, so that the renewal has a
// deadline like any other call.
struct KeepAliveCall : GrpcCall {
  enum class Step : unsigned char { Start, Write, Read, Finish };

  std::unique_ptr<grpc::ClientAsyncReaderWriter<etcdserverpb::LeaseKeepAliveRequest,
                                                etcdserverpb::LeaseKeepAliveResponse>>
      stream;
  etcdserverpb::LeaseKeepAliveRequest request;
  etcdserverpb::LeaseKeepAliveResponse response;
  Step step = Step::Start;
  bool is_answered = false;  // `response` has been read.
};

}  // namespace perennial::store::etcd
