#pragma once

#include <functional>
#include <optional>
#include <string>
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

 private:
  const Parts parts_;
  RateLimit rate_;
};

}  // namespace perennial::http
