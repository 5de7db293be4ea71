#pragma once

#include <vector>

#include "cmd/perenniald/http/api/json.h"
#include "wire/client.h"

// The line of life of a job: what is known of it, from its put to what it is now or how it ended.
namespace perennial::http {

// `job`: as job_json() or ended_json() tells it. `notes`: the last ones, oldest first. The rows are
// in the order of their times; a row whose time is not known stands where it must have been.
Json life_json(const Json& job, const std::vector<wire::ToldNote>& notes);

}  // namespace perennial::http
