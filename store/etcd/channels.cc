#include "store/etcd/channels.h"

#include <algorithm>

#include <fmt/format.h>
#include <grpc/grpc.h>
#include <grpcpp/create_channel.h>

namespace perennial::store::etcd {
namespace {

constexpr std::string_view plain_scheme = "http://";
constexpr std::string_view tls_scheme = "https://";
// How long a channel waits between attempts to connect.
constexpr int first_backoff_ms = 100;
constexpr int backoff_max_ms = 1'000;

// HOST:PORT of http://HOST:PORT or https://HOST:PORT, or nothing.
std::string_view host_and_port(std::string_view endpoint) {
  if (endpoint.starts_with(plain_scheme))
    endpoint.remove_prefix(plain_scheme.size());
  else if (endpoint.starts_with(tls_scheme))
    endpoint.remove_prefix(tls_scheme.size());
  else
    return {};
  if (!endpoint.empty() && endpoint.back() == '/') endpoint.remove_suffix(1);
  const size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view port = endpoint.substr(colon + 1);
  const bool is_number =
      !port.empty() && port.find_first_not_of("0123456789") == std::string_view::npos;
  const bool has_path = endpoint.find('/') != std::string_view::npos;
  return is_number && !has_path ? endpoint : std::string_view{};
}

grpc::ChannelArguments channel_arguments(const GrpcClientOptions& options) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(receive_bytes_max);
  // The first of these is the connect timeout.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(options.connect_timeout / nanos_per_ms));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, first_backoff_ms);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, backoff_max_ms);
  // A call is never repeated behind its caller's back.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // A new channel to a member has a new connection, which no other client shares.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // What the environment or DNS say of proxies and services is not meant for this.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // There are no HTTP/2 pings for keepalive: etcd ends connections on which they come more often
  // than every 5 s. Calls have deadlines, and watches ask for progress.
  return arguments;
}

}  // namespace

Result<Channels> Channels::open(const GrpcClientOptions& options, const TlsFiles& files) {
  if (options.endpoints.empty()) return Status(StatusCode::InvalidArgument, "etcd has no endpoint");
  grpc::SslCredentialsOptions pem;
  pem.pem_root_certs = files.ca;
  pem.pem_cert_chain = files.certificate;
  pem.pem_private_key = files.key;
  const std::shared_ptr<grpc::ChannelCredentials> tls = grpc::SslCredentials(pem);
  Channels channels;
  channels.arguments_ = channel_arguments(options);
  for (const std::string& endpoint : options.endpoints) {
    const std::string_view target = host_and_port(endpoint);
    if (target.empty())
      return Status(
          StatusCode::InvalidArgument,
          fmt::format("\"{}\" is no endpoint of etcd: http://HOST:PORT or https://HOST:PORT",
                      endpoint));
    const bool is_tls = endpoint.starts_with(tls_scheme);
    channels.members_.push_back(
        channels.connect(endpoint, "dns:///" + std::string(target),
                         is_tls ? tls : grpc::InsecureChannelCredentials()));
  }
  return channels;
}

void Channels::failed(const std::shared_ptr<const Member>& member, bool missed_deadline) {
  const auto found = std::ranges::find(members_, member);
  if (found == members_.end()) return;
  if (member == current()) current_ = (current_ + 1) % members_.size();
  if (missed_deadline) *found = connect(member->endpoint, member->target, member->credentials);
}

// It connects with the first call.
std::shared_ptr<const Member> Channels::connect(
    const std::string& endpoint, const std::string& target,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) const {
  auto member = std::make_shared<Member>();
  member->endpoint = endpoint;
  member->target = target;
  member->credentials = credentials;
  member->channel = grpc::CreateCustomChannel(target, credentials, arguments_);
  member->keys = etcdserverpb::KV::NewStub(member->channel);
  member->leases = etcdserverpb::Lease::NewStub(member->channel);
  member->watches = etcdserverpb::Watch::NewStub(member->channel);
  member->maintenance = etcdserverpb::Maintenance::NewStub(member->channel);
  member->authentication = etcdserverpb::Auth::NewStub(member->channel);
  return member;
}

}  // namespace perennial::store::etcd
