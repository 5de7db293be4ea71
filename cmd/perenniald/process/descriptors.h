#pragma once

#include <cstdint>
#include <optional>

namespace perennial::perenniald {

// Raises the limit of file descriptors (RLIMIT_NOFILE) to its maximum, and returns it.
uint64_t raise_descriptors();

// The limit of file descriptors, which is soft.
uint64_t descriptors_max();
// How many file descriptors are open. None: the kernel cannot say it without a long listing, which
// is so before Linux 6.2 if there are many.
std::optional<uint64_t> descriptors_open();

// How many file descriptors each part of the server may have.
struct Descriptors {
  uint64_t connections = 0;
  uint32_t tables = 0;  // Tables that the store keeps open.
};
// Divides `descriptors` between clients, tables and the server's own files, `listeners` sockets
// among them. `wanted`: the number of connections, which may become lower; 0: as many as suit.
// None: the server cannot work with so few.
std::optional<Descriptors> share_descriptors(uint64_t descriptors, uint64_t listeners,
                                             uint64_t wanted);
// The fewest descriptors that the server can work with.
uint64_t descriptors_min(uint64_t listeners);

}  // namespace perennial::perenniald
