#pragma once

#include <cstddef>
#include <string>

#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"

// Whether the server lives, and whether clients should be sent to it. Both say no tube's name and
// no secret, so anybody may ask. The form is that of Kubernetes.
namespace perennial::http {

struct HealthFacts {
  Nanos commit_age = 0;  // How long the log has been busy with one batch.
  Nanos commit_age_max = 30 * nanos_per_second;
  bool is_draining = false;
  bool is_stopping = false;
  bool accepts_puts = true;  // The disk has space for jobs.
};

// /livez: a restart would help if it fails, so it looks neither at the disk nor at clients. That
// the loop answers at all is one of its checks.
Response livez(const HealthFacts& facts, std::string_view query);
// /readyz: a server whose disk is full stays ready, and says "degraded": otherwise nobody could
// delete jobs.
Response readyz(const HealthFacts& facts, std::string_view query);

}  // namespace perennial::http
