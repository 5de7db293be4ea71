#include "store/checkpoint_names.h"

#include <algorithm>

#include "store/identity.h"

namespace perennial::store {
namespace {

constexpr std::string_view name_shape = "####-##-##T##-##-##.###Z";

// checkpoint_name()'s.
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
  if (rest.empty()) return CheckpointNameParts{.name = date, .database = {}, .complete = true};
  if (!rest.ends_with(partial_suffix)) return std::nullopt;
  rest.remove_suffix(partial_suffix.size());
  if (rest.empty()) return CheckpointNameParts{.name = date, .database = {}};
  if (rest.front() != '.' || !is_identity(rest.substr(1))) return std::nullopt;
  return CheckpointNameParts{.name = date, .database = rest.substr(1)};
}

std::string partial_ending(std::string_view database) {
  std::string out;
  if (!database.empty()) out = "." + std::string(database);
  return out + std::string(partial_suffix);
}

}  // namespace perennial::store
