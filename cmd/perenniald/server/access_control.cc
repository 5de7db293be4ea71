#include "cmd/perenniald/server/access_control.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "cmd/common/address.h"
#include "cmd/common/list.h"
#include "cmd/common/network.h"
#include "cmd/perenniald/http/api/audit_lines.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

std::optional<access::PeerProcess> process_of(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return std::nullopt;
  return access::PeerProcess{.uid = peer.uid, .gid = peer.gid};
}

access::Identity identity_of(const ListenerConfig* listener, const AcceptedSocket& socket,
                             const PeerIdentity* peer) {
  if (listener != nullptr && !listener->user.empty()) return access::UserName{listener->user};
  if (peer != nullptr) {
    return access::CertificateNames{
        .uris = peer->uris, .dns = peer->dns, .common_name = peer->common_name};
  }
  if (!socket.is_unix) return {};
  const std::optional<access::PeerProcess> process = process_of(socket.fd);
  return process ? access::Identity(*process) : access::Identity();
}

std::string text_of_client(const std::optional<common::IpAddress>& address) {
  return address ? common::to_text(common::client_network(*address)) : std::string();
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

std::shared_ptr<const access::Users> load_users(const Config& config, Problems& problems) {
  const size_t before = problems.size();
  std::vector<access::User> users = config.users;
  if (!config.users_file.empty()) {
    for (std::string& problem : read_users_file(users, config.users_file)) {
      problems.push_back(std::move(problem));
    }
  }
  for (const std::string& problem : access::Users::problems(users)) {
    problems.push_back("users: " + problem);
  }
  const auto is_there = [&](const std::string& name) {
    return std::ranges::any_of(users, [&](const access::User& user) { return user.name == name; });
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
  return std::make_shared<const access::Users>(std::move(users));
}

void warn_of_open_sockets(const Config& config, const std::vector<BoundSocket>& sockets,
                          const access::Users* users) {
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

access::ClientRights client_rights(const Config& config, const AcceptedSocket& socket,
                                   const PeerIdentity* peer) {
  const ListenerConfig* const listener =
      socket.listener ? &config.listeners[*socket.listener] : nullptr;
  const bool is_tls = listener != nullptr && listener->tls;
  return {.may_checkpoint = socket.is_local || config.checkpoint_from == CheckpointFrom::Any,
          .is_unix = socket.is_unix,
          .is_local = socket.is_local,
          .is_tls = is_tls,
          .identity = identity_of(listener, socket, peer),
          .may_send_token = is_tls || socket.is_local || config.auth_plaintext,
          .address = text_of_client(socket.address)};
}

bool is_believed_proxy(const ListenerConfig& listener, const AcceptedSocket& socket) {
  if (socket.is_unix) return true;  // Who may open the file decides.
  return std::ranges::any_of(
      common::list_items(listener.proxy_from), [&](const std::string_view text) {
        const Result<common::Network> network = common::parse_network(text);
        return network.ok() && socket.address && network->holds(*socket.address);
      });
}

http::Proxies proxies_of(const Config& config) {
  http::Proxies out;
  for (const std::string& proxy : config.http_proxies) {
    if (proxy == unix_proxies) {
      out.on_unix_sockets = true;
    } else {
      const Result<common::Network> network = common::parse_network(proxy);
      CHECK(network.ok());  // The configuration was judged when it was read.
      out.networks.push_back(*network);
    }
  }
  return out;
}

bool is_proxy(const http::Proxies& proxies, const AcceptedSocket& socket) {
  if (socket.is_unix) return proxies.on_unix_sockets;
  return socket.address && proxies.holds(*socket.address);
}

access::ClientRights forwarded_rights(const Config& config, const http::Forwarded& client,
                                      const access::ClientRights& rights) {
  access::ClientRights out = rights;
  const bool is_local = client.address && common::is_local(*client.address);
  if (client.address) {
    out.address = text_of_client(client.address);
    out.is_unix = false;
    out.is_local = is_local;
    out.may_checkpoint = is_local || config.checkpoint_from == CheckpointFrom::Any;
  }
  if (client.is_tls) {
    out.is_tls = *client.is_tls;
    const bool is_readable = !out.is_tls && !is_local && !config.auth_plaintext;
    out.may_send_token = rights.may_send_token && !is_readable;
  }
  return out;
}

void log_audit(const access::AuditEvent& event) {
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
       {"left_out", fmt::format("{}", event.not_logged)}});
}

}  // namespace perennial::perenniald
