#pragma once

#include <cstddef>
#include <deque>

#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/api/json.h"

namespace perennial::http {

// The newest lines of the audit, for the console. The log has all of them. Those of users and those
// of whoever has not shown who it is are kept apart, so that nobody from outside pushes out what a
// user has done.
class AuditLines {
 public:
  static constexpr size_t kept_max = 200;
  static constexpr size_t kept_of_unknown_max = 50;
  // What a line shows of the subject of an event, which may be a client's text.
  static constexpr size_t subject_bytes_max = 200;

  void add(const access::AuditEvent& event, Nanos now);
  // The newest first.
  Json to_json(Nanos now) const;

 private:
  struct Line {
    Nanos at = 0;
    ConnId conn = 0;
    std::string action;
    std::string user;
    std::string from;
    std::string subject;
    bool is_refused = false;
    bool is_internal = false;
    uint64_t not_logged = 0;
  };
  static Json to_json(const Line& line, Nanos now);

  std::deque<Line> lines_;  // Of users; here and below the oldest first.
  std::deque<Line> of_unknown_;
};

}  // namespace perennial::http
