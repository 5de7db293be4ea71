#pragma once

#include <cstdint>
#include <optional>

namespace perennial::perenniald {

// Raises the limit of file descriptors as far as it goes, and returns it.
uint64_t raise_descriptors();

// Who may have how many file descriptors.
struct Descriptors {
  uint64_t connections = 0;
  uint32_t tables = 0;  // Of the store, kept open.
};
// Shares out so many between clients, tables and the server's own files, among them `listeners`
// sockets. `wanted` connections, or as many as suit if that is 0; fewer where there are too few.
// None: the server cannot work with so few.
std::optional<Descriptors> share_descriptors(uint64_t descriptors, uint64_t listeners,
                                             uint64_t wanted);
// The fewest that it can work with.
uint64_t descriptors_min(uint64_t listeners);

}  // namespace perennial::perenniald
