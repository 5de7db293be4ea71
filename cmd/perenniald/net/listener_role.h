#pragma once

#include <cstdint>
#include <string_view>

namespace perennial::perenniald {

// What is spoken with those who come in by a listening socket, and over which stream.
enum class ListenerRole : uint8_t {
  Queue,  // beanstalkd's protocol, the bytes as they are.
};

// The word for it in the configuration, in LISTEN_FDNAMES (FileDescriptorName= of a socket unit)
// and in logs.
constexpr std::string_view role_name(ListenerRole role) {
  switch (role) {
    case ListenerRole::Queue:
      return "queue";
  }
  return "unknown";
}

// The role of a socket that the service manager has named so. It gives the unit's name to one that
// has none, so that any other name is that of a queue, too.
constexpr ListenerRole role_of_socket(std::string_view /*name*/) {
  return ListenerRole::Queue;
}

}  // namespace perennial::perenniald
