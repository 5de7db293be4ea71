#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/types/job_fields.h"
#include "engine/types/status.h"

// The setting `tubes`: what tubes have without a set-tube.
namespace perennial::perenniald {

// `pattern`: the name of a tube, or its beginning with "*" behind it. `options`: those of set-tube,
// as on its line, with a space before each. InvalidArgument: one of them is not valid, or there is
// none.
Result<TubeDefaults> parse_tube_defaults(std::string_view pattern, const std::string& options);

// All of them as one line of YAML: "{mail: {tries: 3}}".
std::string tubes_text(const std::vector<TubeDefaults>& tubes);

}  // namespace perennial::perenniald
