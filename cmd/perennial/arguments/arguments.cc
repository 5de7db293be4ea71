#include "cmd/perennial/arguments/arguments.h"

#include <unordered_set>

#include <fmt/format.h>

#include "cmd/common/units.h"
#include "wire/command_line.h"

namespace perennial::tool {

Flag server_flag(ServerAddress& target) {
  return {.name = "--server",
          .value = "ADDR",
          .help = "The server: HOST:PORT, unix:PATH, or @NAME of servers.yaml",
          .target = &target.address,
          .environment = "PERENNIAL_SERVER"};
}

Flag tube_flag(std::string& target) {
  return {"--tube", "TUBE", "The tube", &target};
}

Status check_tube_name(std::string_view name) {
  if (wire::is_tube_name(name)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{:?} is no name of a tube: 1 to {} letters, digits and -+/;.$_(), the first "
                      "of them no '-'",
                      name, tube_name_bytes_max)};
}

Result<std::vector<JobId>> parse_ids(const std::vector<std::string>& texts) {
  std::vector<JobId> ids;
  std::unordered_set<JobId> seen;
  for (const std::string& text : texts) {
    const Result<uint64_t> id = common::parse_count(text);
    if (!id.ok() || *id == 0) {
      return Status(StatusCode::InvalidArgument,
                    fmt::format("{:?} is no id of a job: a whole number from 1", text));
    }
    // Who names a job twice means it once.
    if (seen.insert(*id).second) ids.push_back(*id);
  }
  return ids;
}

}  // namespace perennial::tool
