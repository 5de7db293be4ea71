#pragma once

#include <optional>
#include <string_view>

#include "cmd/perenniald/http/api/json.h"
#include "engine/types/option_values.h"

// Jobs that have ended, as the queue tells them: only core reads these, and answers a command.
namespace perennial::http {

// What `peek-ended` is asked for with `with:`: all that is told of such a job.
JobFacts facts_of_ended();
// The members of an ended job: those that the answer's facts, such as "tube:mail pri:5", tell.
Json ended_json(std::string_view facts);

struct EndedRows {
  Json jobs = Json::array();
  uint64_t cursor = 0;  // 0: there are no more.
};
// The document that answers `list-jobs ... state:ended`. None: it is no such one.
std::optional<EndedRows> ended_rows(std::string_view yaml);

}  // namespace perennial::http
