#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/perenniald/http/health.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/metrics.h"

// Which request gets which answer, and the checks that come before all of them.
namespace perennial::http {

struct Routes {
  std::function<HealthFacts()> health;
  MetricSources metrics;
  // The hosts by which the port may be called besides those of this machine, without a port. A page
  // whose own name is made to lead here (DNS rebinding, T6) is answered 421.
  std::vector<std::string> hosts = {};

  Http::Handled handle(const Request& request) const;
};

}  // namespace perennial::http
