#pragma once

#include <optional>
#include <string>
#include <string_view>

// The names that checkpoints have in their directory. Included by store's own files only.
namespace perennial::store {

inline constexpr std::string_view partial_suffix = ".partial";

// "2026-11-21T12-40-05.123Z" is a complete checkpoint. A half-made one is called
// "2026-11-21T12-40-05.123Z.DATABASE.partial", because it has no manifest yet that says whose it
// is. Without ".DATABASE" an older version made it.
struct CheckpointNameParts {
  std::string_view name;      // checkpoint_name()'s.
  std::string_view database;  // identity.h; empty if it is not said.
  bool complete = false;
};

// None: it is no checkpoint's name. The parts are views of `name`.
std::optional<CheckpointNameParts> parse_checkpoint_name(std::string_view name);
// What follows the path of a complete one. `database` may be empty.
std::string partial_ending(std::string_view database);

}  // namespace perennial::store
