#include "cmd/perenniald/http/api/audit_lines.h"

#include <fmt/format.h>

#include "cmd/perenniald/http/metrics_writer.h"

namespace perennial::http {

void AuditLines::add(const access::AuditEvent& event, Nanos now) {
  std::deque<Line>& lines = event.user.empty() ? of_unknown_ : lines_;
  if (lines.size() == (event.user.empty() ? kept_of_unknown_max : kept_max)) lines.pop_front();
  lines.push_back({.at = now,
                   .conn = event.conn,
                   .action = std::string(event.action),
                   .user = std::string(event.user),
                   .from = std::string(event.from),
                   .subject = event.subject.substr(0, subject_bytes_max),
                   .is_refused = event.refused,
                   .is_internal = event.is_internal,
                   .not_logged = event.not_logged});
}

Json AuditLines::to_json(Nanos now) const {
  Json lines = Json::array();
  auto of_user = lines_.rbegin();
  auto of_unknown = of_unknown_.rbegin();
  while (of_user != lines_.rend() || of_unknown != of_unknown_.rend()) {
    const bool takes_user = of_unknown == of_unknown_.rend() ||
                            (of_user != lines_.rend() && of_user->at >= of_unknown->at);
    lines.push_back(to_json(takes_user ? *of_user++ : *of_unknown++, now));
  }
  return lines;
}

Json AuditLines::to_json(const Line& line, Nanos now) {
  return {{"age_seconds", in_seconds(now - line.at)},
          {"user", line.user.empty() ? Json(nullptr) : Json(line.user)},
          {"action", line.action},
          {"subject", line.subject},
          {"refused", line.is_refused},
          {"via", line.is_internal ? "http" : "queue"},
          {"connection", fmt::format("{}", line.conn)},
          {"from", line.from.empty() ? "unix" : line.from},
          {"left_out", line.not_logged}};
}

}  // namespace perennial::http
