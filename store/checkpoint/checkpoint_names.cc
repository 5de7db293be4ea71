#include "store/checkpoint/checkpoint_names.h"

#include <algorithm>

#include "store/disk/identity.h"

namespace perennial::store {
namespace {

constexpr std::string_view name_shape = "####-##-##T##-##-##.###Z";

// Returns whether `name` has the form that checkpoint_name() gives.
bool is_name(std::string_view name) {
  return std::ranges::equal(name, name_shape, [](char is, char shape) {
    return shape == '#' ? is >= '0' && is <= '9' : is == shape;
  });
}

}  // namespace

std::optional<CheckpointNameParts> parse_checkpoint_name(std::string_view name) {
  const std::string_view date = name.substr(0, name_shape.size());
  if (!is_name(date)) return std::nullopt;
  std::string_view rest = name.substr(date.size());
  using Kind = CheckpointNameParts::Kind;
  if (rest.empty()) return CheckpointNameParts{.name = date, .database = {}};
  const bool is_temporary = rest.ends_with(temporary_suffix);
  if (!is_temporary && !rest.ends_with(partial_suffix)) return std::nullopt;
  rest.remove_suffix(is_temporary ? temporary_suffix.size() : partial_suffix.size());
  const Kind kind = is_temporary ? Kind::Temporary : Kind::Partial;
  if (rest.empty()) return CheckpointNameParts{.name = date, .database = {}, .kind = kind};
  if (rest.front() != '.' || !is_identity(rest.substr(1))) return std::nullopt;
  return CheckpointNameParts{.name = date, .database = rest.substr(1), .kind = kind};
}

std::string name_ending(std::string_view database, std::string_view suffix) {
  std::string out;
  if (!database.empty()) out = "." + std::string(database);
  return out + std::string(suffix);
}

}  // namespace perennial::store
