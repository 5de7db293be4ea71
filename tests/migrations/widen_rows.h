#pragma once

#include <string>

#include "migrations/steps.h"

// A step for tests only, which no released format needs: in format 6 the fixed part of a job's row
// has 72 bytes, and the row has 3 as its format byte.
namespace perennial::migrations {

// The step writes batches of two rows, so that it can be interrupted between them.
Step widen_rows_step();

// Returns every row of a database as text that can be compared, without the commit row, which each
// open changes.
std::string raw_rows(const std::string& data_dir);
// Returns the result of raw_rows() after the step, made from its result before the step. The rows
// may also be those of an earlier format, before all steps.
std::string widened(const std::string& rows);
// Returns the result of raw_rows() after steps to this format that change no row, made from its
// result before.
std::string in_format(uint8_t format, const std::string& rows);

}  // namespace perennial::migrations
