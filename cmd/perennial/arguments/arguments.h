#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/tool/requests.h"
#include "cmd/common/tool/subcommand.h"
#include "cmd/common/tool/tls_flags.h"

// Functions shared by the subcommands that talk to a running server.
namespace perennial::tool {

inline constexpr uint64_t u32_max = ~uint32_t{0};

Flag server_flag(ServerAddress& target);
Flag tube_flag(std::string& target);

// InvalidArgument: the protocol does not allow this name. The message states the rule.
Status check_tube_name(std::string_view name);
// Parses job ids from the command line.
Result<std::vector<JobId>> parse_ids(const std::vector<std::string>& texts);

}  // namespace perennial::tool
