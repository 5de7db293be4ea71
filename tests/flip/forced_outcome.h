#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/types/options.h"
#include "tests/store/random_store.h"
#include "tests/support/fault_fs.h"

// Starts of random stores whose logs are damaged, and what they announce.
namespace perennial::store {

// The outcome of a start.
struct Outcome {
  bool is_open = false;
  std::string text;   // What was announced, or why the start was refused.
  std::string wrong;  // What is never allowed.
};

// Starts in a child, with a file system that `arrange` prepares.
Outcome start(const RandomStore& made, const std::string& path, Recover recover,
              const std::function<void(support::FaultFs&)>& arrange = {});

// Starts once more, as any start does. Returns how the state differs from what a forced start has
// announced and left.
std::string reopen(const RandomStore& made, const std::string& path, const std::string& announced);

// Returns the number behind `name` in a text that has it.
uint64_t number_in(std::string_view text, std::string_view name);

}  // namespace perennial::store
