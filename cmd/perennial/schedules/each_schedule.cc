#include "cmd/perennial/schedules/each_schedule.h"

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/schedules/schedule_request.h"

namespace perennial::tool {
namespace {

// Commands and answers are short lines, so no buffer fills.
constexpr size_t names_in_flight_max = 200;

class EachScheduleReport {
 public:
  explicit EachScheduleReport(const EachSchedule& what) : what_(what) {}

  void succeeded(const std::string& name) {
    if (!what_.json) fmt::print("{} {}\n", what_.done, name);
    done_.push_back(name);
  }
  void failed(const std::string& name, const std::string& why) {
    if (!what_.json) complain(what_.subcommand, fmt::format("{}: {}", name, why));
    errors_.push_back({{"schedule", name}, {"message", why}});
  }
  Status finish(Status ended) const {
    if (what_.json) print_result({{std::string(what_.done), done_}, {"errors", errors_}});
    if (!ended.ok() || errors_.empty()) return ended;
    const size_t total = done_.size() + errors_.size();
    if (total == 1) return {StatusCode::NotFound, "nothing was done"};
    return {StatusCode::NotFound, fmt::format("{} of {} schedules failed", errors_.size(), total)};
  }

 private:
  const EachSchedule& what_;
  std::vector<std::string> done_;
  nlohmann::ordered_json errors_ = nlohmann::ordered_json::array();
};

Status run_on_some(ServerConnection& server, std::span<const std::string> names,
                   const EachSchedule& what, EachScheduleReport& report) {
  for (const std::string& name : names) server.add(what.command(name));
  for (const std::string& name : names) {
    const Result<wire::ClientReply> reply = server.receive();
    if (!reply.ok()) return reply.status();
    if (reply->is(what.success)) {
      report.succeeded(name);
    } else {
      report.failed(name, schedule_refused(*reply, what.subcommand).message());
    }
  }
  return {};
}

Status run_on_all(ServerConnection& server, std::span<const std::string> names,
                  const EachSchedule& what, EachScheduleReport& report) {
  while (!names.empty()) {
    const size_t count = std::min(names.size(), names_in_flight_max);
    if (Status ran = run_on_some(server, names.first(count), what, report); !ran.ok()) return ran;
    names = names.subspan(count);
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> schedule_names(const std::vector<std::string>& given) {
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (const std::string& name : given) {
    if (Status checked = check_schedule_name(name); !checked.ok()) return checked;
    if (seen.insert(name).second) names.push_back(name);
  }
  return names;
}

Status run_on_schedules(ServerConnection& server, const std::vector<std::string>& names,
                        const EachSchedule& what) {
  EachScheduleReport report(what);
  return report.finish(run_on_all(server, names, what, report));
}

}  // namespace perennial::tool
