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

// What etcd and this client have agreed on how large one answer may be. A transaction is 1.5 MiB
// in etcd as it comes, a part of a watch's answer as much, and callers read ranges in pages.
inline constexpr int receive_bytes_max = 32 << 20;

// A member of the etcd cluster and a connection to it. Calls share it, so it may outlive its place
// among the channels.
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
  // `files`: what is in those that the options name.
  static Result<Channels> open(const GrpcClientOptions& options, const TlsFiles& files);

  size_t size() const { return members_.size(); }
  const std::shared_ptr<const Member>& member(size_t member) const { return members_[member]; }
  const std::shared_ptr<const Member>& current() const { return members_[current_]; }
  // Calls go to this member from now on. A number past the end is that of a longer list of before,
  // and does nothing.
  void prefer(size_t member) {
    if (member < members_.size()) current_ = member;
  }

  // A call to this member has failed without a known outcome. If calls still go to it, they go to
  // the next member from now on. After a missed deadline the member gets a new channel, because
  // nobody else notices that the machine behind a connection is gone. Calls that are under way stay
  // where they are. Does nothing for a connection that was replaced already.
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
