#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "cmd/perenniald/http/message.h"
#include "cmd/perenniald/http/metrics_writer.h"
#include "cmd/perenniald/http/problem.h"
#include "engine/types/basic.h"
#include "engine/types/stats.h"

// The objects of the API: openapi.json. Ids are strings, because JavaScript's numbers end at 2^53.
// Times are seconds.
namespace perennial::http {

using Json = nlohmann::ordered_json;

Json job_json(const JobStats& job);
Json tube_json(const TubeStats& tube);
Json counts_json(const StateCounts& jobs);
// RFC 3339, UTC. Null: `time`, since the epoch, is 0.
Json time_json(Nanos time);

// As bytes. Text that is not UTF-8 gets replacement characters.
std::string dumped(const Json& value);
Response json_response(Status status, const Json& value);

}  // namespace perennial::http
