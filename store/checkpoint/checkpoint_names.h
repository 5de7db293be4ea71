#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The names that checkpoints have in their directory. Included by store's own files only.
namespace perennial::store {

inline constexpr std::string_view partial_suffix = ".partial";
inline constexpr std::string_view temporary_suffix = ".temporary";

// "2026-11-21T12-40-05.123Z" is a complete checkpoint. A half-made one is called
// "2026-11-21T12-40-05.123Z.DATABASE.partial", because it has no manifest yet that says whose it
// is. Without ".DATABASE" an older version made it. A temporary one ends in ".temporary".
struct CheckpointNameParts {
  enum class Kind : uint8_t { Complete, Partial, Temporary };

  std::string_view name;      // checkpoint_name()'s.
  std::string_view database;  // identity.h; empty if it is not said.
  Kind kind = Kind::Complete;
};

// None: it is no checkpoint's name. The parts are views of `name`.
std::optional<CheckpointNameParts> parse_checkpoint_name(std::string_view name);
// What follows the path of a complete one. `suffix`: one of the two; `database` may be empty.
std::string name_ending(std::string_view database, std::string_view suffix);

}  // namespace perennial::store
