#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/health.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/metrics.h"
#include "cmd/perenniald/http/needs.h"
#include "cmd/perenniald/http/routes/rate_limit.h"
#include "cmd/perenniald/http/sign_in.h"
#include "cmd/perenniald/http/workers.h"

// Which request gets which answer, and the checks that come before all of them.
namespace perennial::http {

// What the routes ask of the server, besides what the API does.
class RouteSources : public ApiSources {
 public:
  virtual HealthFacts health() = 0;
  // Make long texts of what was taken from the engine. Null: the loop does.
  virtual Workers* workers() { return nullptr; }
  // For other nodes: what is below /cluster/, for callers with the verb `admin`. None: there is
  // nothing at this path.
  virtual std::optional<Http::Handled> answer_node(const Request& request) = 0;
};

class Routes {
 public:
  // `sources` and `api` outlive this. `hosts`: the names by which the port may be called besides
  // localhost, without a port. A page whose own name is made to lead here (DNS rebinding, T6) is
  // answered 421.
  Routes(RouteSources& sources, Api& api, std::vector<std::string> hosts)
      : sources_(sources), api_(api), hosts_(std::move(hosts)) {}

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

  RouteSources& sources_;
  Api& api_;
  const std::vector<std::string> hosts_;
  RateLimit rate_;
};

}  // namespace perennial::http
