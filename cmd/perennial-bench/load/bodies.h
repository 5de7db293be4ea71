#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::bench {

// The bodies of a load, all of one size. Each begins with the time of its put; its letters are from
// a place in a pool of random ones that follows from that time. So no two that lie beside each
// other in a table are alike, which would let a store that compresses look better than it is, and
// whoever is given one can tell that it is whole.
class Bodies {
 public:
  Bodies(uint32_t bytes, uint64_t seed);

  // Writes one.
  void write(char* place, Nanos time) const;
  bool is_one(std::string_view body) const;
  // When it was put. None if bodies are too short to say. REQUIRES: is_one().
  std::optional<Nanos> time_of(std::string_view body) const;

 private:
  // What follows the time in a body of then.
  std::string_view letters_at(Nanos time) const;

  const size_t bytes_;
  std::string pool_;
};

}  // namespace perennial::bench
