#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "engine/types/check.h"
#include "engine/types/status.h"
#include "store/etcd/etcd.grpc.pb.h"
#include "store/etcd/grpc_client.h"

namespace perennial::store::etcd {

// What etcd and this client have agreed on how large one answer may be. A transaction is 1.5 MiB
// in etcd as it comes, a part of a watch's answer as much, and callers read ranges in pages.
inline constexpr int receive_bytes_max = 32 << 20;

// A member of the etcd cluster and the connection to it.
struct Member {
  std::string endpoint;  // As it was given.
  std::string target;    // As gRPC wants it.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> keys;
  std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  std::unique_ptr<etcdserverpb::Watch::Stub> watches;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Auth::Stub> authentication;
};

// One channel for each member, and which of them the next call goes to. gRPC itself chooses
// nothing: it would stay with a member that is stopped.
class Channels {
 public:
  static Result<Channels> open(const GrpcClientOptions& options);

  size_t size() const { return members_.size(); }
  const Member& member(size_t member) const { return members_[member]; }
  size_t current() const { return current_; }
  // Calls go to this member from now on.
  void prefer(size_t member) {
    CHECK(member < members_.size());
    current_ = member;
  }

  // A call to this member has failed without a known outcome. If calls still go to it, they go to
  // the next member from now on. After a missed deadline the member gets a new channel, because
  // nobody else notices that the machine behind a connection is gone. Calls that are under way stay
  // where they are.
  void failed(size_t member, bool missed_deadline);

 private:
  void connect(Member& member) const;

  grpc::ChannelArguments arguments_;
  std::vector<Member> members_;
  size_t current_ = 0;
};

}  // namespace perennial::store::etcd
