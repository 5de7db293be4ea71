#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/requests.h"
#include "cmd/common/tool/subcommand.h"

// What the subcommands share that talk to a running server.
namespace perennial::tool {

inline constexpr uint64_t u32_max = ~uint32_t{0};

Flag server_flag(std::string& target);
Flag tube_flag(std::string& target);

// InvalidArgument, with the rule: the protocol does not allow this name.
Status check_tube_name(std::string_view name);
// The numbers of jobs, as given on the command line.
Result<std::vector<JobId>> parse_ids(const std::vector<std::string>& texts);

}  // namespace perennial::tool
