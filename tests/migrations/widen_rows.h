#pragma once

#include <string>

#include "migrations/steps.h"

// A step that no released format needs, to show what steps rest on: in format 2 a job's row has 72
// bytes, under row format 2.
namespace perennial::migrations {

// In batches of so few rows that it can be cut short between any two.
Step widen_rows_step();

// Every row of a database, in words that can be compared, and the commit row aside: each open
// changes that.
std::string raw_rows(const std::string& data_dir);
// What raw_rows() says after the step, made from what it said before.
std::string widened(const std::string& rows);

}  // namespace perennial::migrations
