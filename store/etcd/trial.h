#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "store/etcd/channels.h"
#include "store/etcd/grpc_call.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::store::etcd {

// Tries whether etcd answers with new options: asks all members that they name for their status,
// over connections of its own. That needs no user.
class Trial {
 public:
  struct Outcome {
    bool is_answered = false;
    size_t member = 0;          // The first member that answered,
    uint64_t etcd_cluster = 0;  // and the identity of its etcd cluster.
    std::string failure = {};   // Of the last member, if none has answered.
  };

  // `done` is called once, on the executor's thread and not in here, and may destroy this.
  // `channels` are those of the options.
  Trial(GrpcExecutor& executor, Channels channels, std::function<void(const Outcome&)> done);
  // Does not call `done`.
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // REQUIRES: `done` was called. Called once.
  Channels take_channels() { return std::move(channels_); }

 private:
  void ask(size_t member);
  void on_response(size_t member, const UnaryCall<etcdserverpb::StatusResponse>& call);
  void end(const Outcome& outcome);

  GrpcExecutor& executor_;
  Channels channels_;
  std::function<void(const Outcome&)> done_;
  std::vector<GrpcCall*> calls_;  // Those under way.
};

}  // namespace perennial::store::etcd
