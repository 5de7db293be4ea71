#include "cmd/perenniald/server/access_control.h"

#include <algorithm>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "cmd/common/address.h"
#include "cmd/perenniald/http/api/audit_lines.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {
namespace {

std::optional<core::PeerProcess> process_of(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return core::PeerProcess{.uid = peer.uid, .gid = peer.gid};
}

core::Identity identity_of(const ListenerConfig* listener, const AcceptedSocket& socket,
                           const PeerIdentity* peer) {
  if (listener != nullptr && !listener->user.empty()) return core::UserName{listener->user};
  if (peer != nullptr) {
    return core::CertificateNames{
        .uris = peer->uris, .dns = peer->dns, .common_name = peer->common_name};
  }
  if (!socket.is_unix) return {};
  const std::optional<core::PeerProcess> process = process_of(socket.fd);
  return process ? core::Identity(*process) : core::Identity();
}

// The address without its port. Of IPv6 the first 64 bits: one client may have all addresses of
// such a network.
std::string address_of(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (peer.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(peer);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
  }
  if (peer.ss_family != AF_INET6) return {};
  in6_addr network = reinterpret_cast<const sockaddr_in6&>(peer).sin6_addr;
  if (!IN6_IS_ADDR_V4MAPPED(&network)) std::fill_n(network.s6_addr + 8, 8, uint8_t{0});
  return ::inet_ntop(AF_INET6, &network, text, sizeof text);
}

// Why HTTP may not be spoken at a listener that other machines reach (T27). Empty: it may.
std::string http_problem(const Config& config, const ListenerConfig& listener, bool has_users) {
  const Result<common::Address> address = listener_address(listener, config.port);
  const bool is_http = listener.protocol == ListenerProtocol::Http;
  if (!is_http || !address.ok() || common::is_local(*address)) return {};
  if (!has_users) {
    return "protocol http: other machines reach this address, and there are no users, so everybody "
           "could do everything: set users or users_file";
  }
  if (!listener.tls && !config.auth_plaintext) {
    return "protocol http: other machines reach this address, and tokens would be readable on the "
           "way: set tls, or auth_plaintext if the network is trusted";
  }
  return {};
}

}  // namespace

std::shared_ptr<const core::Users> load_users(const Config& config, Problems& problems) {
  const size_t before = problems.size();
  std::vector<core::User> users = config.users;
  if (!config.users_file.empty()) {
    for (std::string& problem : read_users_file(users, config.users_file)) {
      problems.push_back(std::move(problem));
    }
  }
  for (const std::string& problem : core::Users::problems(users)) {
    problems.push_back("users: " + problem);
  }
  const auto is_there = [&](const std::string& name) {
    return std::ranges::any_of(users, [&](const core::User& user) { return user.name == name; });
  };
  for (const ListenerConfig& listener : config.listeners) {
    if (listener.user.empty() || is_there(listener.user)) continue;
    problems.push_back(
        fmt::format("listener {}: user: there is no user '{}'", listener.address, listener.user));
  }
  const bool has_users = !users.empty() || !config.users_file.empty();
  for (const ListenerConfig& listener : config.listeners) {
    if (std::string problem = http_problem(config, listener, has_users); !problem.empty()) {
      problems.push_back(fmt::format("listener {}: {}", listener.address, problem));
    }
  }
  if (problems.size() > before) return nullptr;
  // A file of users that holds none is no invitation to everybody.
  if (users.empty() && config.users_file.empty()) return nullptr;
  return std::make_shared<const core::Users>(std::move(users));
}

void warn_of_open_sockets(const Config& config, const std::vector<BoundSocket>& sockets,
                          const core::Users* users) {
  if (users != nullptr) return;
  for (const BoundSocket& socket : sockets) {
    const std::optional<size_t> listener = socket.listener();
    const bool is_tls = listener && config.listeners[*listener].tls;
    const Result<common::Address> address = common::parse_address(socket.name(), config.port);
    if (is_tls || !address.ok() || common::is_local(*address)) continue;
    log(Level::Warning, "listen.open",
        {{"address", socket.name()},
         {"means", "whoever reaches it may do everything; see the settings listeners and users"}});
  }
}

core::ClientRights client_rights(const Config& config, const AcceptedSocket& socket,
                                 const PeerIdentity* peer) {
  const ListenerConfig* const listener =
      socket.listener ? &config.listeners[*socket.listener] : nullptr;
  const bool is_tls = listener != nullptr && listener->tls;
  return {.may_checkpoint = socket.is_local || config.checkpoint_from == CheckpointFrom::Any,
          .is_unix = socket.is_unix,
          .is_tls = is_tls,
          .identity = identity_of(listener, socket, peer),
          .may_send_token = is_tls || socket.is_local || config.auth_plaintext,
          .address = socket.is_unix ? std::string() : address_of(socket.fd)};
}

void log_audit(const core::AuditEvent& event) {
  const std::string_view subject =
      std::string_view(event.subject).substr(0, http::AuditLines::subject_bytes_max);
  log(Level::Info, "audit",
      {{"user", std::string(event.user.empty() ? "-" : event.user)},
       {"action", std::string(event.action.empty() ? "-" : event.action)},
       {"subject", std::string(subject.empty() ? "-" : subject)},
       {"result", event.refused ? "refused" : "allowed"},
       {"via", event.is_internal ? "http" : "queue"},
       {"conn", fmt::format("{}", event.conn)},
       {"from", std::string(event.from.empty() ? "unix" : event.from)},
       {"refused_before", fmt::format("{}", event.not_logged)}});
}

}  // namespace perennial::perenniald
