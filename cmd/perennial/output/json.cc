#include "cmd/perennial/output/json.h"

#include <cstdio>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace perennial::tool {

void print_result(const nlohmann::ordered_json& object) {
  // Not with fmt::print: whether standard output took it is seen at the end of the program.
  std::puts(object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

std::string json_id(JobId id) {
  return fmt::to_string(id);
}

}  // namespace perennial::tool
