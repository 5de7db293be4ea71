#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "cmd/common/line_limit.h"
#include "cmd/perenniald/process/log.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// The lines of the log that anybody can cause who reaches a listener, whoever that is. The audit
// has lines, too, which core limits by itself.
enum class ClientLine : uint8_t {
  WrongProtocol,     // A client speaks another protocol than the listener's.
  HandshakeRefused,  // TLS.
  NoPlace,           // Its address has too many connections.
  Circle,            // Standbys have passed it on to each other.
};
struct ClientLineRow {
  ClientLine line;
  std::string_view at;
};
inline constexpr std::array client_lines = {
    ClientLineRow{ClientLine::WrongProtocol, "conn.refused"},
    ClientLineRow{ClientLine::HandshakeRefused, "tls.refused"},
    ClientLineRow{ClientLine::NoPlace, "conn.no_place"},
    ClientLineRow{ClientLine::Circle, "cluster.circle"},
};

// Writes at most so many lines of each kind in a second. The next one says how many were left out.
class ClientLog {
 public:
  static constexpr uint64_t lines_per_second_max = 10;

  // `line` is a warning with these fields.
  void log(ClientLine line, Nanos now, std::initializer_list<Field> fields);

 private:
  std::vector<common::LineLimit> limits_{client_lines.size(),
                                         common::LineLimit(lines_per_second_max)};
};

}  // namespace perennial::perenniald
