#pragma once

#include "tests/soak/job_ledger.h"
#include "tests/support/client_socket.h"

namespace perennial::soak {

// Checks every job after a restart, before the load resumes: each acknowledged job exists, in a
// state that a restart may give it. Updates the ledger with what is found. `found` is the number of
// jobs.
Status check_all(JobLedger& ledger, support::ClientSocket& client, size_t& found);

// Reserves and deletes every job at the end. Each must be known and appear once, no acknowledged
// job may be missing, and none may remain. `drained` is the number of jobs.
Status drain(JobLedger& ledger, support::ClientSocket& client, size_t& drained);

}  // namespace perennial::soak
