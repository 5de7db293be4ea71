#include "cmd/perenniald/http/routes/routes.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/network.h"
#include "cmd/perenniald/access/users.h"
#include "cmd/perenniald/http/apart_answer.h"
#include "cmd/perenniald/http/api/json.h"
#include "cmd/perenniald/http/gzip_answer.h"
#include "cmd/perenniald/http/routes/pages.h"

namespace perennial::http {
namespace {

// Why there are no jobs to ask for.
std::string reason_not_loaded(const ClusterHealth& cluster) {
  if (!cluster.is_node) return "The jobs are not loaded yet.";
  if (cluster.leader.empty()) return "No node of the cluster leads: ask again soon.";
  return fmt::format("This node is a standby: ask the leader, {} at {}.", cluster.leader,
                     cluster.leader_address);
}

Http::Handled short_answer(std::string_view route, Response response) {
  return {route, answer_now(std::move(response))};
}

// "queue.test:11380" and "[::1]:11380" without the port.
std::string_view without_port(std::string_view host) {
  const size_t colon = host.rfind(':');
  const size_t bracket = host.rfind(']');
  const bool has_port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return has_port ? host.substr(0, colon) : host;
}

// An address in numbers: no name, so nobody can have made a name lead here.
bool is_number(std::string_view host) {
  if (!host.starts_with('[') || !host.ends_with(']')) return common::is_ipv4(host);
  const std::string_view number = host.substr(1, host.size() - 2);
  return common::parse_ip(number) && !common::is_ipv4(number);
}

// Only an old client, which is no browser, names no host.
bool has_allowed_host(const Request& request, const std::vector<std::string>& hosts) {
  if (!request.fields.contains("host")) return true;
  const std::string_view host = without_port(request.field("host"));
  return host == "localhost" || is_number(host) || std::ranges::find(hosts, host) != hosts.end();
}

// For whom a request counts: a user at an address, or whoever there has not shown who it is. So
// nobody takes from a user what the address may send. Empty: a unix socket has no limit.
std::string rate_share(const Caller& caller, const std::string& address) {
  if (address.empty() || caller.user == nullptr) return address;
  return fmt::format("{} {}", address, caller.user->name);
}

bool wants_open_metrics(const Request& request) {
  return request.field("accept").find("application/openmetrics-text") != std::string_view::npos;
}

Http::Handled metrics_answer(MetricSources& sources, const Request& request) {
  const std::vector<std::string> names = query_values(request.query, "names");
  const bool are_old = !names.empty() && names.front() == "beanstalkd";
  return {.route = "/metrics",
          .answer = make_metrics(sources, {.open_metrics = wants_open_metrics(request),
                                           .names_of_beanstalkd = are_old,
                                           .tubes = sources.tubes()}),
          .is_for_monitor = true};
}

// The tubes that fit ?match=PATTERN, and at most ?limit=N of them.
Http::Handled tube_metrics_answer(MetricSources& sources, const Request& request) {
  constexpr size_t tubes_max = 10'000;
  TubeChoice choice;
  const std::vector<std::string> patterns = query_values(request.query, "match");
  if (!patterns.empty()) choice.match = patterns.front();
  bool is_good = choice.match.size() <= access::pattern_bytes_max;
  if (const std::vector<std::string> limits = query_values(request.query, "limit");
      !limits.empty()) {
    const std::string& text = limits.front();
    const auto read = std::from_chars(text.data(), text.data() + text.size(), choice.tubes_max);
    is_good = is_good && read.ec == std::errc() && read.ptr == text.data() + text.size() &&
              choice.tubes_max <= tubes_max;
  }
  if (!is_good) {
    return short_answer("/metrics/tubes",
                        problem_response(Status::BadRequest,
                                         "match: a pattern of at most 200 bytes; limit: 0 to "
                                         "10000."));
  }
  return {"/metrics/tubes", make_metrics(sources, {.open_metrics = wants_open_metrics(request),
                                                   .tubes_only = true,
                                                   .tubes = std::move(choice)})};
}

Http::Handled refuse(Status status, std::string_view detail) {
  Response response = problem_response(status, detail);
  if (status == Status::TooManyRequests || status == Status::ServiceUnavailable) {
    response.fields = {{"Retry-After", "1"}};
  }
  return short_answer("none", std::move(response));
}

Http::Handled refuse_unloaded(const ClusterHealth& cluster) {
  return refuse(Status::ServiceUnavailable, reason_not_loaded(cluster));
}

// 401 asks whoever is unknown for a token; a user who has not the grant needs another one.
Http::Handled needs_grant(std::string_view path, access::Verb needed, const Caller& caller) {
  const std::string_view verb = access::name_of(needed);
  if (caller.user != nullptr) {
    return short_answer(
        path, problem_response(Status::Forbidden, fmt::format("The grant {} is needed.", verb)));
  }
  Response response = problem_response(
      Status::Unauthorized, fmt::format("A token of a user with the grant {} is needed.", verb));
  response.fields = {{"WWW-Authenticate", "Bearer"}};
  return short_answer(path, std::move(response));
}

Http::Handled not_allowed(std::string_view path, std::string_view allowed) {
  Response response = problem_response(
      Status::MethodNotAllowed, fmt::format("{} only.", allowed == "GET" ? "GET" : "GET and HEAD"));
  response.fields = {{"Allow", std::string(allowed)}};
  return short_answer(path, std::move(response));
}

}  // namespace

const Routes::Row Routes::rows[] = {
    {"/cluster/", Needs::verb(access::Verb::Admin), &Routes::for_nodes, "GET"},
    {"/livez", Needs::nothing_of_anybody(), &Routes::live},
    {"/readyz", Needs::nothing_of_anybody(), &Routes::ready},
    {"/leader", Needs::nothing_of_anybody(), &Routes::leads},
    {"/metrics", Needs::verb(access::Verb::Monitor), &Routes::metrics},
    {"/metrics/tubes", Needs::verb(access::Verb::Monitor), &Routes::metrics_of_tubes},
};

bool Routes::Row::fits(const Request& request) const {
  return path.ends_with('/') ? request.path.starts_with(path) : request.path == path;
}

bool Routes::Row::allows(std::string_view method) const {
  return method == "GET" || (method == "HEAD" && methods != "GET");
}

std::vector<Routes::Path> Routes::paths() {
  std::vector<Path> paths;
  for (const Row& row : rows) paths.push_back({row.path, row.needs});
  return paths;
}

std::optional<Http::Handled> Routes::live(const Request& request, const Caller& /*caller*/) {
  return short_answer("/livez", livez(sources_.health(), request.query));
}

std::optional<Http::Handled> Routes::ready(const Request& request, const Caller& /*caller*/) {
  return short_answer("/readyz",
                      readyz(sources_.health(), sources_.cluster_health(), request.query));
}

std::optional<Http::Handled> Routes::leads(const Request& /*request*/, const Caller& /*caller*/) {
  return short_answer("/leader", leader(sources_.cluster_health()));
}

std::optional<Http::Handled> Routes::metrics(const Request& request, const Caller& /*caller*/) {
  if (sources_.is_loaded()) return metrics_answer(sources_, request);
  if (!sources_.cluster_health().is_node) return refuse_unloaded(sources_.cluster_health());
  return Http::Handled{.route = "/metrics",
                       .answer = make_standby_metrics(sources_, wants_open_metrics(request)),
                       .is_for_monitor = true};
}

std::optional<Http::Handled> Routes::metrics_of_tubes(const Request& request,
                                                      const Caller& /*caller*/) {
  if (!sources_.is_loaded()) return refuse_unloaded(sources_.cluster_health());
  return tube_metrics_answer(sources_, request);
}

std::optional<Http::Handled> Routes::for_nodes(const Request& request, const Caller& caller) {
  api_.audit_other("GET /cluster/", request, caller, std::nullopt);
  return sources_.answer_node(request);
}

Http::Handled Routes::handle(const Request& request, const access::ClientRights& rights) {
  Http::Handled handled = answer(request, rights);
  if (request.method == "GET" && accepts_gzip(request)) {
    handled.answer = make_gzip_answer(std::move(handled.answer));
  }
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  if (Workers* const workers = sources_.workers(); workers != nullptr && is_read) {
    handled.answer = make_apart_answer(std::move(handled.answer), handled.is_for_monitor, *workers);
  }
  handled.is_tls = rights.is_tls;
  return handled;
}

std::optional<Http::Handled> Routes::answer_by_row(const Request& request,
                                                   const access::ClientRights& rights) {
  const auto row = std::ranges::find_if(rows, [&](const Row& each) { return each.fits(request); });
  if (row == std::end(rows)) return std::nullopt;
  if (!row->allows(request.method)) return not_allowed(row->path, row->methods);
  Caller caller;
  if (const std::optional<access::Verb> verb = row->needs.verb()) {
    caller = sources_.sign_ins().caller(request, rights);
    if (!caller.may(*verb)) {
      api_.audit_other(fmt::format("GET {}", row->path), request, caller, *verb);
      return needs_grant(row->path, *verb, caller);
    }
  }
  return (this->*row->function)(request, caller);
}

Http::Handled Routes::answer(const Request& request, const access::ClientRights& rights) {
  if (!has_allowed_host(request, hosts_)) {
    return refuse(Status::MisdirectedRequest, "This port is not called by that name: http_hosts.");
  }
  if (Api::owns(request.path)) {
    const Caller caller = sources_.sign_ins().caller(request, rights);
    // A person who signs in has a good token, perhaps, at an address from which too much comes.
    const bool is_free = Api::is_sign_in(request) || (caller.is_known() && Api::is_work(request));
    if (!is_free && !rate_.allows(rate_share(caller, rights.address), sources_.now())) {
      return refuse(Status::TooManyRequests,
                    fmt::format("More than {} requests a second come from this address: wait a "
                                "second.",
                                RateLimit::per_second));
    }
    if (!sources_.is_loaded() && !Api::is_early(request)) {
      return refuse_unloaded(sources_.cluster_health());
    }
    return api_.handle(request, caller);
  }
  if (std::optional<Http::Handled> answer = answer_by_row(request, rights)) {
    return *std::move(answer);
  }
  if (std::optional<Response> page = page_of(request)) {
    const bool is_read = request.method == "GET" || request.method == "HEAD";
    if (!is_read) return not_allowed("/", "GET, HEAD");
    return short_answer("/", *std::move(page));
  }
  return short_answer("none", problem_response(Status::NotFound, "There is nothing here."));
}

}  // namespace perennial::http
