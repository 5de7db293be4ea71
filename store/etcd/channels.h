#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include "engine/types/status.h"
#include "store/etcd/etcd.grpc.pb.h"
#include "store/etcd/grpc_client.h"
#include "store/etcd/tls_files.h"

namespace perennial::store::etcd {

// The largest response accepted. etcd limits a transaction to 1.5 MiB by default, and a fragment of
// a watch's response likewise; callers read ranges in pages.
inline constexpr int receive_bytes_max = 32 << 20;

// A member of the etcd cluster and a connection to it. Calls share it, so it may outlive its place
// among the channels.
struct Member {
  std::string endpoint;  // As in the options.
  std::string target;    // In the form that gRPC expects.
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<etcdserverpb::KV::Stub> keys;
  std::unique_ptr<etcdserverpb::Lease::Stub> leases;
  std::unique_ptr<etcdserverpb::Watch::Stub> watches;
  std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  std::unique_ptr<etcdserverpb::Auth::Stub> authentication;
};

// One channel for each member, and the choice of the member for the next call. That choice is not
// left to gRPC, which would stay with a member that is stopped.
class Channels {
 public:
  // `files`: the contents of the files that the options name.
  static Result<Channels> open(const GrpcClientOptions& options, const TlsFiles& files);

  size_t size() const { return members_.size(); }
  const std::shared_ptr<const Member>& member(size_t member) const { return members_[member]; }
  const std::shared_ptr<const Member>& current() const { return members_[current_]; }
  // Sends calls to this member from now on. Does nothing for a number past the end, which is from
  // an earlier, longer list.
  void prefer(size_t member) {
    if (member < members_.size()) current_ = member;
  }

  // A call to this member has failed with an unknown outcome. If it is the current member, calls go
  // to the next one from now on. After a missed deadline it gets a new channel, because nothing
  // else shows that the machine at the other end of a connection is gone. Calls under way keep
  // their connection. Does nothing for a connection that was replaced already.
  void failed(const std::shared_ptr<const Member>& member, bool missed_deadline);

 private:
  std::shared_ptr<const Member> connect(
      const std::string& endpoint, const std::string& target,
      const std::shared_ptr<grpc::ChannelCredentials>& credentials) const;

  grpc::ChannelArguments arguments_;
  std::vector<std::shared_ptr<const Member>> members_;
  size_t current_ = 0;
};

}  // namespace perennial::store::etcd
