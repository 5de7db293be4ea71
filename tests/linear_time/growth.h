#pragma once

#include <functional>
#include <string>

namespace perennial::linear_time {

// A parser of bytes from outside, with an input that is as bad as one of that size can be.
struct Case {
  std::string name;
  size_t bytes_max = 0;  // The largest input that gets as far as the parser.
  std::function<std::string(size_t bytes)> input;
  std::function<void(const std::string&)> parse;
};

// Empty: eight times the bytes cost at most `growth_max` times as much, from 1 KB to the limit.
// Else what they cost.
std::string problem_of(const Case& parser);

}  // namespace perennial::linear_time
