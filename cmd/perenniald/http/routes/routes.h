#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/health.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/metrics.h"
#include "cmd/perenniald/http/needs.h"
#include "cmd/perenniald/http/routes/rate_limit.h"
#include "cmd/perenniald/http/sign_in.h"

// Which request gets which answer, and the checks that come before all of them.
namespace perennial::http {

class Routes {
 public:
  struct Parts {
    std::function<HealthFacts()> health;
    std::function<ClusterHealth()> cluster;
    // For other nodes: what is below /cluster/, for callers who may do everything. None: there is
    // nothing at this path.
    std::function<std::optional<Http::Handled>(const Request&)> for_nodes;
    // Whether there are jobs to be asked for. Until then API and metrics answer 503.
    std::function<bool()> is_loaded;
    const MetricSources& metrics;
    SignIns& sign_ins;
    Api& api;
    std::function<Nanos()> now;
    // The names by which the port may be called besides localhost, without a port. A page whose own
    // name is made to lead here (DNS rebinding, T6) is answered 421.
    std::vector<std::string> hosts = {};
  };

  explicit Routes(Parts parts) : parts_(std::move(parts)) {}

  // `rights`: of the connection.
  Http::Handled handle(const Request& request, const access::ClientRights& rights);
  // The paths that are neither of the API nor of the console, and what they need.
  struct Path {
    std::string_view path;  // One that ends in "/" stands for all that are below it.
    Needs needs;
  };
  static std::vector<Path> paths();

 private:
  // `caller`: who asks, if the row needs a verb; else nobody, because that is not looked up. None:
  // there is nothing at this path.
  using Function = std::optional<Http::Handled> (Routes::*)(const Request& request,
                                                            const Caller& caller);
  struct Row {
    std::string_view path;  // One that ends in "/" stands for all that are below it.
    Needs needs;
    Function function;
    // The value of Allow.
    std::string_view methods = "GET, HEAD";

    bool fits(const Request& request) const;
    bool allows(std::string_view method) const;
  };
  static const Row rows[];

  Http::Handled answer(const Request& request, const access::ClientRights& rights);
  // None: no row is of this path.
  std::optional<Http::Handled> answer_by_row(const Request& request,
                                             const access::ClientRights& rights);
  std::optional<Http::Handled> live(const Request& request, const Caller& caller);
  std::optional<Http::Handled> ready(const Request& request, const Caller& caller);
  std::optional<Http::Handled> leads(const Request& request, const Caller& caller);
  std::optional<Http::Handled> metrics(const Request& request, const Caller& caller);
  std::optional<Http::Handled> metrics_of_tubes(const Request& request, const Caller& caller);
  std::optional<Http::Handled> for_nodes(const Request& request, const Caller& caller);

  const Parts parts_;
  RateLimit rate_;
};

}  // namespace perennial::http
