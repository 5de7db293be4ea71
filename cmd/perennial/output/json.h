#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "engine/types/basic.h"

// One object of JSON as the result of a subcommand. Names are those of the API over HTTP for the
// same things, with underscores.
namespace perennial::tool {

// Prints it on standard output. Bytes that are no UTF-8 are replaced.
void print_result(const nlohmann::ordered_json& object);

// An id as the API over HTTP has it: a text, because it may exceed 2^53.
std::string json_id(JobId id);

}  // namespace perennial::tool
