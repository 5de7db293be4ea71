#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The names of checkpoints in their directory. Only files of store/ include this header.
namespace perennial::store {

inline constexpr std::string_view partial_suffix = ".partial";
inline constexpr std::string_view temporary_suffix = ".temporary";

// "2026-11-21T12-40-05.123Z" is a complete checkpoint. A partial one is called
// "2026-11-21T12-40-05.123Z.DATABASE.partial". The name contains the database's identity because
// there is no manifest yet that names the database. A name without ".DATABASE" comes from an older
// version. A temporary checkpoint ends in ".temporary".
struct CheckpointNameParts {
  enum class Kind : uint8_t { Complete, Partial, Temporary };

  std::string_view name;      // As checkpoint_name() gives it.
  std::string_view database;  // identity.h; empty if the name contains none.
  Kind kind = Kind::Complete;
};

// Returns none if `name` is not the name of a checkpoint. The parts are views of `name`.
std::optional<CheckpointNameParts> parse_checkpoint_name(std::string_view name);
// Returns what a partial or temporary name has after the complete name. `suffix` is one of the two
// above; `database` may be empty.
std::string name_ending(std::string_view database, std::string_view suffix);

}  // namespace perennial::store
