#pragma once

#include <cstdint>
#include <string_view>

namespace perennial::store::cluster {

// What becomes of new jobs at the leader. All other commands go on.
enum class Puts : uint8_t {
  Accepted,
  // They wait, as for a slow disk, until enough nodes have what is in the log (`copies_min`,
  // `log_bytes_max`).
  Held,
  Refused,  // Etcd's database is nearly as large as its quota.
};

constexpr std::string_view puts_name(Puts puts) {
  switch (puts) {
    case Puts::Accepted:
      return "accepted";
    case Puts::Held:
      return "held";
    case Puts::Refused:
      break;
  }
  return "refused";
}

}  // namespace perennial::store::cluster
