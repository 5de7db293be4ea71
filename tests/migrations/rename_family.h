#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "migrations/steps.h"

// Another step that no released format needs: in format 2 there is no family `buried`, and its rows
// are in a new one, `asleep`.
namespace perennial::migrations {

// The families of both formats.
std::span<const store::FamilyNames> renamed_families();
// In batches of so few rows that it can be cut short between any two.
Step rename_family_step();
// What raw_rows() says after the step, made from what it said before.
std::string renamed(const std::string& rows);

}  // namespace perennial::migrations
