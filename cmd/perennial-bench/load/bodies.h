#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::bench {

// The bodies of a load, all of one size. Each begins with the time of its put. Its letters come
// from a pool of random ones, at an offset that follows from the time. Neighbours in a table
// therefore differ, since equal bodies would flatter a store that compresses. A reader of a body
// can verify that it is whole.
class Bodies {
 public:
  Bodies(uint32_t bytes, uint64_t seed);

  // Writes the body of this time.
  void write(char* place, Nanos time) const;
  bool is_one(std::string_view body) const;
  // Returns the time of the put, or none if bodies are too short to hold it. REQUIRES: is_one().
  std::optional<Nanos> time_of(std::string_view body) const;

 private:
  // The letters that follow this time in a body.
  std::string_view letters_at(Nanos time) const;

  const size_t bytes_;
  std::string pool_;
};

}  // namespace perennial::bench
