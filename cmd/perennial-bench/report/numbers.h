#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

// Formats numbers of a bench for people.
namespace perennial::bench {

inline constexpr double nanos_per_us = 1000;

// From 100 on a whole number with commas, "148,123"; below that three digits, "57.3" and "0.95".
std::string number_text(double value);
// A number in a unit of measurement.h: "bytes" becomes "64.0 MiB", and any other unit follows the
// number.
std::string with_unit(double value, std::string_view unit);
// "1.04", "23.1", "612"; "-" for none.
std::string ratio_text(std::optional<double> ratio);

}  // namespace perennial::bench
