#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace perennial::perenniald {

// The protocol that clients of a listening socket speak, whatever the stream.
enum class ListenerRole : uint8_t {
  Queue,  // beanstalkd's protocol.
  Http,   // Console, API, metrics and health.
};

// The word for a role in LISTEN_FDNAMES, which FileDescriptorName= of a socket unit sets.
constexpr std::string_view role_name(ListenerRole role) {
  switch (role) {
    case ListenerRole::Queue:
      return "queue";
    case ListenerRole::Http:
      return "http";
  }
  return "unknown";
}

inline constexpr std::array listener_roles = {ListenerRole::Queue, ListenerRole::Http};

// Returns the role of a socket that the service manager has given this name. systemd gives an
// unnamed socket the unit's name, so any unknown name means a queue.
constexpr ListenerRole role_of_socket(std::string_view name) {
  for (const ListenerRole role : listener_roles) {
    if (role_name(role) == name) return role;
  }
  return ListenerRole::Queue;
}

}  // namespace perennial::perenniald
