#include "cmd/perenniald/http/api/audit_lines.h"

#include <fmt/format.h>

#include "cmd/perenniald/http/metrics_writer.h"

namespace perennial::http {

void AuditLines::add(const core::AuditEvent& event, Nanos now) {
  if (lines_.size() == kept_max) lines_.pop_front();
  lines_.push_back({.at = now,
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
  for (auto line = lines_.rbegin(); line != lines_.rend(); ++line) {
    lines.push_back({{"age_seconds", in_seconds(now - line->at)},
                     {"user", line->user.empty() ? Json(nullptr) : Json(line->user)},
                     {"action", line->action},
                     {"subject", line->subject},
                     {"refused", line->is_refused},
                     {"via", line->is_internal ? "http" : "queue"},
                     {"connection", fmt::format("{}", line->conn)},
                     {"from", line->from.empty() ? "unix" : line->from},
                     {"refused_before", line->not_logged}});
  }
  return lines;
}

}  // namespace perennial::http
