#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/sources.h"
#include "cmd/perenniald/http/leases/leases.h"
#include "cmd/perenniald/http/sign_in.h"
#include "engine/types/basic.h"

namespace perennial::http {

struct ReserveAsked {
  std::vector<std::string> tubes;
  uint32_t count = 1;
  Nanos wait = 0;
};

// Reserves jobs for a caller, and answers with a lease of each. Until the answer has left the jobs
// are not the client's: they are ready again if it does not come so far.
// REQUIRES: leases.places() has as many as are asked for, which this takes.
std::unique_ptr<Answer> make_reserve_answer(ApiSources& sources, Leases& leases,
                                            const Caller& caller, ReserveAsked asked);

// When a lease ends: {"ends_at", "left_seconds"}.
Json lease_end_json(Nanos ends_at, Nanos now);

}  // namespace perennial::http
