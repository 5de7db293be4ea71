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

// What all calls that are under way have. A call belongs to itself: gRPC writes to it until its
// last operation is over, which may be after the client's end, and then it deletes itself.
struct GrpcCall {
  grpc::ClientContext context;
  grpc::Status status;
  std::shared_ptr<const Member> member;
  std::string token;          // It was called with this. Empty: with none.
  bool is_abandoned = false;  // The client has ended, and nobody waits for the result.
  Completion completion;

  // Negative: gRPC fails the call at once.
  void set_deadline_in(Nanos left) {
    context.set_deadline(
        gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left, GPR_TIMESPAN)));
  }
  void abandon() {
    is_abandoned = true;
    context.TryCancel();
  }
};

// One request, one answer.
template <typename Reply>
struct UnaryCall : GrpcCall {
  std::unique_ptr<grpc::ClientAsyncResponseReader<Reply>> reader;
  Reply reply;
};

// etcd renews leases by a stream. This one serves a single renewal, so that it has a deadline like
// any other call.
struct KeepAliveCall : GrpcCall {
  enum class Step : unsigned char { Start, Write, Read, Finish };

  std::unique_ptr<grpc::ClientAsyncReaderWriter<etcdserverpb::LeaseKeepAliveRequest,
                                                etcdserverpb::LeaseKeepAliveResponse>>
      stream;
  etcdserverpb::LeaseKeepAliveRequest request;
  etcdserverpb::LeaseKeepAliveResponse reply;
  Step step = Step::Start;
  bool is_answered = false;  // There is a reply.
};

}  // namespace perennial::store::etcd
