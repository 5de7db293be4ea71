#include "cmd/perenniald/process/client_log.h"

#include <optional>
#include <string>

#include <fmt/format.h>

#include "cmd/common/characters.h"

namespace perennial::perenniald {

void ClientLog::log(ClientLine line, Nanos now, std::initializer_list<Field> fields) {
  const auto index = static_cast<size_t>(line);
  const std::optional<uint64_t> left_out = limits_[index].take(now);
  if (!left_out) return;
  std::string text;
  for (const Field& field : fields) {
    text += fmt::format("{}={} ", field.key, common::logfmt_value(field.value));
  }
  text += fmt::format("left_out={}", *left_out);
  log_fields(Level::Warning, client_lines[index].at, text);
}

}  // namespace perennial::perenniald
