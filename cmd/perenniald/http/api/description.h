#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/api/api.h"
#include "cmd/perenniald/http/api/json.h"

// The description of the API in OpenAPI 3.1, made of what is written by hand and of what the
// program knows. README.md says which is which.
namespace perennial::http {

// openapi.json, which has what the table of the paths does not know. CMake makes the definition
// from that file.
std::string_view written_description();

// Adds what the rows and the schemas imply. Rows that `written` does not mention stay out.
Json describe(Json written, std::span<const Api::Route> routes);

// The whole description as JSON. Made once.
const std::string& api_description();

// The names of the query parameters that a path has by the description.
const std::set<std::string, std::less<>>& query_parameters(const Api::Route& route);

}  // namespace perennial::http
