#pragma once

#include <cstdint>
#include <optional>

#include "engine/types/basic.h"

namespace perennial::support {

enum class CallKind : uint8_t {
  Get,
  Commit,
  Compact,
  Grant,
  KeepAlive,
  Revoke,
  TimeToLive,
  Status,
  Disarm,
  Watch
};

// What becomes of one call.
struct CallFate {
  Nanos request_delay = 0;  // Past the deadline: it happens after its outcome was Unknown.
  Nanos answer_delay = 0;
  bool is_request_lost = false;  // The call never happens.
  bool is_answer_lost = false;   // It happens, and its outcome is Unknown.
  // The connection breaks: the outcome is Unknown after this time, whatever becomes of the call.
  std::optional<Nanos> error_after = {};
};

// What is drawn from the seed. A number `_per_mille` is of calls, reports or leases. What happens
// about every `_every` never happens if that is 0.
struct EtcdFaults {
  Nanos request_delay_max = nanos_per_ms;
  Nanos answer_delay_max = nanos_per_ms;
  uint32_t lost_requests_per_mille = 0;
  uint32_t lost_answers_per_mille = 0;
  // The outcome is Unknown before the deadline, and half of the requests are late.
  uint32_t broken_per_mille = 0;
  uint32_t late_per_mille = 0;  // Requests that take up to `late_max`.
  Nanos late_max = 5 * nanos_per_second;

  uint32_t short_leases_per_mille = 0;  // A grant or a renewal that holds for less than its time.
  // How long after its time a lease is still there.
  Nanos lease_late_max = nanos_per_second;

  uint32_t late_reports_per_mille = 0;
  Nanos report_late_max = 3 * nanos_per_second;
  // Revisions with events in a report; the number is drawn. 0: all that there are.
  uint32_t report_revisions_max = 0;

  Nanos majority_lost_every = 0;
  Nanos majority_lost_max = 8 * nanos_per_second;
  Nanos election_every = 0;
  Nanos cut_off_every = 0;
  Nanos cut_off_max = 8 * nanos_per_second;
  Nanos lease_ended_every = 0;
  Nanos watches_ended_every = 0;
  Nanos compaction_every = 0;
  Nanos full_every = 0;
  Nanos full_max = 5 * nanos_per_second;
  Nanos restore_every = 0;  // Goes back by up to `restore_back_max`.
  Nanos restore_back_max = 5 * nanos_per_second;
  Nanos replace_every = 0;

  // All faults that etcd's guarantees survive. Not restores and replacements.
  static EtcdFaults all();
};

}  // namespace perennial::support
