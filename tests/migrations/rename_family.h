#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "migrations/steps.h"

// A step for tests only, which no released format needs: format 3 has no family `buried`, and has
// those rows in a new family, `asleep`.
namespace perennial::migrations {

// The families of all formats.
std::span<const store::FamilyNames> renamed_families();
// The step writes batches of two rows, so that it can be interrupted between them.
Step rename_family_step();
// Returns the result of raw_rows() after the step, made from its result before the step. The rows
// may also be those of format 1, before all steps.
std::string renamed(const std::string& rows);

}  // namespace perennial::migrations
