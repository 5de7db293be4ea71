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
#include "cmd/perenniald/http/routes/rate_limit.h"
#include "cmd/perenniald/http/sign_in.h"

// Which request gets which answer, and the checks that come before all of them.
namespace perennial::http {

class Routes {
 public:
  struct Parts {
    std::function<HealthFacts()> health;
    std::function<ClusterHealth()> cluster;
    // For other nodes: what is below /cluster/, for callers who may do everything. Null: nothing
    // is.
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
  Http::Handled handle(const Request& request, const core::ClientRights& rights);
  // The paths that are neither of the API nor of the console. One that ends in "/" stands for all
  // that are below it.
  static std::vector<std::string_view> paths();

 private:
  using Function = Http::Handled (Routes::*)(const Request&, const core::ClientRights&);
  struct Row {
    std::string_view path;
    Function function;
  };
  static const Row rows[];

  Http::Handled answer(const Request& request, const core::ClientRights& rights);
  Http::Handled live(const Request& request, const core::ClientRights& rights);
  Http::Handled ready(const Request& request, const core::ClientRights& rights);
  Http::Handled leads(const Request& request, const core::ClientRights& rights);
  Http::Handled metrics(const Request& request, const core::ClientRights& rights);
  Http::Handled metrics_of_tubes(const Request& request, const core::ClientRights& rights);
  // None: the caller may see the server, whose jobs are loaded.
  std::optional<Http::Handled> refuse_metrics(std::string_view path, const Request& request,
                                              const core::ClientRights& rights);
  // None: there is nothing at this path.
  std::optional<Http::Handled> for_nodes(const Request& request, const core::ClientRights& rights);

  const Parts parts_;
  RateLimit rate_;
};

}  // namespace perennial::http
