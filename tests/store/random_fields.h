#pragma once

#include <random>
#include <string>

#include "engine/types/job_fields.h"
#include "engine/types/schedule.h"

// Random optional fields for tests: each field is set or not, with small, large and extreme values.
namespace perennial::store {

// At least one field is set. The key is not: only the caller knows which keys are free.
JobFields random_fields(std::mt19937_64& random);
// Sometimes no setting is set, which removes a record.
TubeSettings random_settings(std::mt19937_64& random);
// Without whether the key is given up.
JobKey random_key(std::mt19937_64& random, std::string key);
// A schedule without a body.
Schedule random_schedule(std::mt19937_64& random, std::string name);
ScheduleProgress random_progress(std::mt19937_64& random);

}  // namespace perennial::store
